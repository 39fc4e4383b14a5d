"""How values look on a page."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from assay.model.capability import Capabilities
from assay.model.finding import Finding, Severity
from assay.model.judgement import Ruled, Ruling
from assay.model.scan import Scan
from assay.model.submission import MEANING, Category, State, category_of
from assay.model.verdict import Decision
from assay.policy.policy import TABLE
from assay.store.queue.position import Position

# So many names of a kind are shown at once.
AT_A_GLANCE = 12
# Why people are asked, besides the rows of the policy.
ASKED = {
    "appealed": "it was refused, and its author has appealed",
    "suppression_ended": "a finding counts again that was suppressed",
}
BECAUSE = {row.code: row.when for row in TABLE if row.decision is not Decision.APPROVE} | ASKED
# The codes with which submissions wait for a person.
REVIEW_REASONS = (*(row.code for row in TABLE if row.decision is Decision.REVIEW), *ASKED)
UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))

# Controls, and characters that take no space or turn the direction of reading; emoji may keep their joiners.
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\U000e0000-\U000e007f]"
)


class Reach(NamedTuple):
    """Names of one kind: the first, and the rest."""

    kind: str
    names: tuple[str, ...]
    more: tuple[str, ...]


def visible(text: str) -> str:
    """The same text with what is hidden in it written out."""
    return HIDDEN.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)


def moment(value: datetime) -> str:
    """A time that reads the same everywhere."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def duration(milliseconds: float) -> str:
    """A span in the largest unit that fits."""
    size, unit = next(((size, unit) for size, unit in UNITS if milliseconds >= size), UNITS[-1])
    number = milliseconds / size
    return f"{number:.0f} {unit}" if number >= 10 or unit == "ms" else f"{number:.1f} {unit}"


def size(number: int) -> str:
    """Bytes for people."""
    if number < 1024:
        return f"{number} B"
    return f"{number / 1024:.1f} KiB" if number < 1024 * 1024 else f"{number / 1024 / 1024:.1f} MiB"


def short(digest: str) -> str:
    """Enough of a digest to tell it from others."""
    return f"{digest.removeprefix('sha256:')[:16]}…"


def meaning(state: State) -> str:
    """What a state means, as a sentence."""
    text = MEANING[state]
    return f"{text[0].upper()}{text[1:]}."


def category(state: State) -> str:
    """The group of a state, used as a colour."""
    return category_of(state).value


def group(category: Category) -> str:
    """A group of states as the last word of "submissions …"."""
    return {Category.REVIEW: "in review", Category.ON_HOLD: "on hold"}.get(category, category.value)


def place(position: Position) -> str:
    """A position in the line, as far as it is counted."""
    return at_least(position.number if position.is_exact else position.number - 1, position.is_exact)


def at_least(number: int, is_exact: bool) -> str:
    """A number, with a sign if there may be more."""
    return f"{number:,}" if is_exact else f"{number:,}+"


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """In the order in which people should read them."""
    gravest = list(Severity)
    return sorted(findings, key=lambda finding: (gravest.index(finding.severity), -finding.confidence))


def because(code: str) -> str:
    """What the code of a reason means, if the policy or a person has given it."""
    return BECAUSE.get(code, "")


def ruled_by(finding: Finding, judgement: Scan | None) -> Ruled | None:
    """What the judge says to a finding of the static scan, if it was asked."""
    key = finding.rule_id, finding.file, finding.line
    return next((each for each in judgement.rulings if each.key == key), None) if judgement else None


def rulings(ruled: Iterable[Ruled]) -> str:
    """How the judge ruled, in numbers."""
    counted = Counter(each.ruling for each in ruled)
    words = {Ruling.CONFIRMED: "confirmed", Ruling.REFUTED: "refuted", Ruling.UNSURE: "is unsure about"}
    return ", ".join(f"{word} {counted[ruling]}" for ruling, word in words.items() if counted[ruling])


def reach(capabilities: Capabilities) -> list[Reach]:
    """What a skill reaches for, kind by kind; a kind of which it has nothing is left out."""
    kinds = {
        "Hosts it names": capabilities.hosts,
        "Programs it runs": capabilities.programs,
        "Variables it reads": capabilities.environment,
        "Files outside its folder": capabilities.outside_files,
        "Tools it asks for": capabilities.tools,
    }
    return [Reach(kind, names[:AT_A_GLANCE], names[AT_A_GLANCE:]) for kind, names in kinds.items() if names]


def grade(score: int) -> str:
    """The colour of a score."""
    return "good" if score >= 80 else "fair" if score >= 50 else "poor"


FILTERS: dict[str, Callable[..., object]] = {
    "moment": moment,
    "duration": duration,
    "size": size,
    "short": short,
    "meaning": meaning,
    "category": category,
    "group": group,
    "place": place,
    "at_least": at_least,
    "worst_first": worst_first,
    "because": because,
    "ruled_by": ruled_by,
    "rulings": rulings,
    "grade": grade,
    "reach": reach,
}
