"""Documentation pages of the rules, generated from the rules: one per family, and an index."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby

from assay.scan.rule import Rule
from assay.scan.ruleset import Ruleset, load_ruleset

INDEX = "README.md"
INTRODUCTION = """\
# Scanner rules

All rules of the static scan, by family. A rule reports a match with its severity (the possible damage) and its
confidence (the probability that the match is what it seems to be). The [policy](../policy.md) turns all findings of a
skill into a verdict. `assay rules show ID` prints the same information on the command line, and also accepts an id that
a rule replaces. `assay rules test FOLDER` tests your own rules on their specimens: see
[Scanning skills](../scanning.md).

These pages are generated from the rules. The specimens are examples only; invisible characters in them are escaped.
"""
# Blank characters that Unicode classifies as letters or symbols.
BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
SHOWN_CATEGORIES = "LNPS"
CODE = re.compile(r"(`[^`]+`)")
BACKTICKS = re.compile(r"`{3,}")


def rule_pages(ruleset: Ruleset | None = None) -> dict[str, str]:
    """Return each page by its file name."""
    rules = sorted((ruleset or load_ruleset()).rules, key=lambda rule: (rule.family, rule.id))
    families = {family: list(group) for family, group in groupby(rules, key=lambda rule: rule.family)}
    pages = {f"{family}.md": _page(family, group) for family, group in families.items()}
    return {INDEX: _index(families), **pages}


def fenced(text: str, language: str = "text") -> str:
    """Return a code block that its content cannot close, with invisible characters escaped."""
    shown = visible(text.strip("\n"))
    fence = "`" * max([3, *(len(found) + 1 for found in BACKTICKS.findall(shown))])
    return f"{fence}{language}\n{shown}\n{fence}"


def visible(text: str) -> str:
    """Escape all characters that a reader would not see or would mistake for others."""
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character in "\n\t ":
        return character
    is_shown = unicodedata.category(character)[0] in SHOWN_CATEGORIES and character not in BLANK
    return character if is_shown else character.encode("unicode_escape").decode()


def _index(families: dict[str, list[Rule]]) -> str:
    rows = [_row(rule) for rules in families.values() for rule in rules]
    links = [f"- [{_words(family)}]({family}.md): {len(rules)}" for family, rules in families.items()]
    table = ["| rule | severity | detects | replaces |", "|---|---|---|---|", *rows]
    return "\n".join([INTRODUCTION, *links, "", *table, ""])


def _row(rule: Rule) -> str:
    link = f"[{rule.id}]({rule.family}.md#{_anchor(rule)})"
    return f"| {link} | {rule.severity} | {_inline(rule.title)} | {_names(rule.replaces)} |"


def _page(family: str, rules: Sequence[Rule]) -> str:
    return "\n\n".join([f"# {_words(family)}", f"[All rules]({INDEX})", *(_section(rule) for rule in rules)]) + "\n"


def _section(rule: Rule) -> str:
    return "\n\n".join(
        [
            f"## {rule.id}: {_inline(rule.title)}",
            "\n".join(_facts(rule)),
            _inline(rule.rationale),
            f"**Remediation.** {_inline(rule.remediation)}",
            f"Detected, in `{rule.specimen_file}`{_times(rule)}:",
            fenced(rule.bad),
            "Not detected:",
            fenced(rule.benign),
        ]
    )


def _times(rule: Rule) -> str:
    return f", repeated {rule.specimen_times:,} times" if rule.specimen_times > 1 else ""


def _facts(rule: Rule) -> Iterator[str]:
    yield f"- severity: {rule.severity}"
    elsewhere = sorted(rule.confidence_in.items())
    yield f"- confidence: {rule.confidence:g}" + "".join(f", {each:g} in {where}" for where, each in elsewhere)
    if rule.references:
        yield f"- references: {', '.join(map(_inline, rule.references))}"
    if rule.replaces:
        yield f"- replaces: {_names(rule.replaces)}"


def _inline(text: str) -> str:
    """Return text on one line, with HTML and table delimiters escaped outside code."""
    parts = CODE.split(visible(" ".join(text.split())))
    parts[::2] = [part.replace("&", "&amp;").replace("<", "&lt;") for part in parts[::2]]
    return "".join(parts).replace("|", "\\|")


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _words(family: str) -> str:
    return family.replace("_", " ").capitalize()


def _anchor(rule: Rule) -> str:
    """Return the anchor that code hosts derive from the heading."""
    heading = f"{rule.id}: {rule.title}".lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
