"""Jinja templates: every value is escaped, and hidden characters in it are made visible."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from assay import __version__
from assay.model.finding import Capabilities, Finding, Severity
from assay.model.submission import MEANING, State, StateGroup, group_of
from assay.model.verdict import Decision, FindingRuling, Ruling, Scan
from assay.policy.policy import TABLE
from assay.store.queue.position import Position
from assay.web.http.caller import caller_of

FOLDER = Path(__file__).parent.parent / "templates"
# Names of one kind shown at once; the rest is folded.
FOLDED_AFTER = 12
# Reasons for a review that do not come from the policy.
OTHER_REVIEW_REASONS = {
    "appealed": "its author appealed the refusal",
    "suppression_ended": "the suppression of a finding has ended",
}
REASONS = {row.code: row.when for row in TABLE if row.decision is not Decision.APPROVE} | OTHER_REVIEW_REASONS
# Reason codes of submissions in review.
REVIEW_REASONS = (*(row.code for row in TABLE if row.decision is Decision.REVIEW), *OTHER_REVIEW_REASONS)
UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))

# Control, zero-width and bidirectional characters; the joiners of emoji are allowed.
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\U000e0000-\U000e007f]"
)


class CapabilityGroup(NamedTuple):
    """The capabilities of one kind: those shown at once, and the folded rest."""

    kind: str
    names: tuple[str, ...]
    more: tuple[str, ...]


def visible(text: str) -> str:
    """Return the text with hidden characters written as escapes."""
    return HIDDEN.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)


def moment(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def duration(milliseconds: float) -> str:
    """Format a duration in the largest unit that fits."""
    size, unit = next(((size, unit) for size, unit in UNITS if milliseconds >= size), UNITS[-1])
    number = milliseconds / size
    return f"{number:.0f} {unit}" if number >= 10 or unit == "ms" else f"{number:.1f} {unit}"


def size(number: int) -> str:
    if number < 1024:
        return f"{number} B"
    return f"{number / 1024:.1f} KiB" if number < 1024 * 1024 else f"{number / 1024 / 1024:.1f} MiB"


def short(digest: str) -> str:
    return f"{digest.removeprefix('sha256:')[:16]}…"


def meaning(state: State) -> str:
    """Return the meaning of a state as a sentence."""
    text = MEANING[state]
    return f"{text[0].upper()}{text[1:]}."


def category(state: State) -> str:
    """Return the group of a state, which selects its colour."""
    return group_of(state).value


def group(category: StateGroup) -> str:
    """Return the group as it follows the word "submissions"."""
    return {StateGroup.REVIEW: "in review", StateGroup.ON_HOLD: "on hold"}.get(category, category.value)


def queue_position(position: Position) -> str:
    """Format a position; beyond the counting limit it ends in a plus sign."""
    return at_least(position.number if position.is_exact else position.number - 1, position.is_exact)


def at_least(number: int, is_exact: bool) -> str:
    """Format a number, with a plus sign if it is a lower bound."""
    return f"{number:,}" if is_exact else f"{number:,}+"


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings by severity, then by confidence."""
    severities = list(Severity)
    return sorted(findings, key=lambda finding: (severities.index(finding.severity), -finding.confidence))


def reason_text(code: str) -> str:
    """Return the meaning of a reason code of the policy or of a review, else an empty string."""
    return REASONS.get(code, "")


def ruling_on(finding: Finding, judgement: Scan | None) -> FindingRuling | None:
    """Return what the judge ruled on a finding of the static scan, if anything."""
    key = finding.rule_id, finding.file, finding.line
    return next((each for each in judgement.rulings if each.key == key), None) if judgement else None


def ruling_counts(ruled: Iterable[FindingRuling]) -> str:
    """Summarise the rulings of the judge by kind."""
    counted = Counter(each.ruling for each in ruled)
    words = {Ruling.CONFIRMED: "confirmed", Ruling.REFUTED: "refuted", Ruling.UNSURE: "is unsure about"}
    return ", ".join(f"{word} {counted[ruling]}" for ruling, word in words.items() if counted[ruling])


def capability_groups(capabilities: Capabilities) -> list[CapabilityGroup]:
    """Group capabilities by kind, without empty groups."""
    kinds = {
        "Hosts it names": capabilities.hosts,
        "Programs it runs": capabilities.programs,
        "Variables it reads": capabilities.environment,
        "Files outside its folder": capabilities.outside_files,
        "Tools it requests": capabilities.tools,
    }
    return [CapabilityGroup(kind, names[:FOLDED_AFTER], names[FOLDED_AFTER:]) for kind, names in kinds.items() if names]


def grade(score: int) -> str:
    """Return the CSS class of a score."""
    return "good" if score >= 80 else "fair" if score >= 50 else "poor"


FILTERS: dict[str, Callable[..., object]] = {
    "moment": moment,
    "duration": duration,
    "size": size,
    "short": short,
    "meaning": meaning,
    "category": category,
    "group": group,
    "queue_position": queue_position,
    "at_least": at_least,
    "worst_first": worst_first,
    "reason_text": reason_text,
    "ruling_on": ruling_on,
    "ruling_counts": ruling_counts,
    "grade": grade,
    "capability_groups": capability_groups,
}


def load_templates() -> Environment:
    """Load the templates; an undefined name is an error instead of an empty string."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.globals["version"] = __version__
    environment.globals["caller_of"] = caller_of
    return environment


def _finalize(value: object) -> object:
    """Make hidden characters visible in every printed value, before it is escaped."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
