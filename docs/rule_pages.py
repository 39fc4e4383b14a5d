"""Pages on the rules of the scanner, made from the rules themselves: one a family, and an index."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby

from assay.scan.rule import Rule
from assay.scan.ruleset import Ruleset, load_ruleset

INDEX = "README.md"
INTRODUCTION = """\
# The rules of the scanner

What the scanner looks for, by family. A rule reports what *is* there, with how bad it would be (severity) and how sure
a match makes us (confidence); the policy decides what all findings of a skill mean together. `assay rules show ID` has
the same on the command line, also by an id that a rule replaces, and `assay rules test FOLDER` tries rules of your own
on their specimens: [Scanning skills](../scanning.md).

These pages are generated from the rules. Specimens are shown and never meant: what is invisible in them is escaped.
"""
# Letters and symbols by their category, and blank all the same.
BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
SHOWN_CATEGORIES = "LNPS"
CODE = re.compile(r"(`[^`]+`)")
BACKTICKS = re.compile(r"`{3,}")


def rule_pages(ruleset: Ruleset | None = None) -> dict[str, str]:
    """Each page by its file name."""
    rules = sorted((ruleset or load_ruleset()).rules, key=lambda rule: (rule.family, rule.id))
    families = {family: list(group) for family, group in groupby(rules, key=lambda rule: rule.family)}
    pages = {f"{family}.md": _page(family, group) for family, group in families.items()}
    return {INDEX: _index(families), **pages}


def fenced(text: str, language: str = "text") -> str:
    """Text that no Markdown of its own can break out of, and that hides nothing."""
    shown = visible(text.strip("\n"))
    fence = "`" * max([3, *(len(found) + 1 for found in BACKTICKS.findall(shown))])
    return f"{fence}{language}\n{shown}\n{fence}"


def visible(text: str) -> str:
    """The same with everything escaped that a reader would not see, or not see as what it is."""
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character in "\n\t ":
        return character
    is_shown = unicodedata.category(character)[0] in SHOWN_CATEGORIES and character not in BLANK
    return character if is_shown else character.encode("unicode_escape").decode()


def _index(families: dict[str, list[Rule]]) -> str:
    rows = [_row(rule) for rules in families.values() for rule in rules]
    links = [f"- [{_words(family)}]({family}.md): {len(rules)}" for family, rules in families.items()]
    table = ["| rule | severity | looks for | replaces |", "|---|---|---|---|", *rows]
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
            f"**What to do.** {_inline(rule.remediation)}",
            f"Found, in `{rule.specimen_file}`{_times(rule)}:",
            fenced(rule.bad),
            "Not found:",
            fenced(rule.benign),
        ]
    )


def _times(rule: Rule) -> str:
    return f", {rule.specimen_times:,} times below itself" if rule.specimen_times > 1 else ""


def _facts(rule: Rule) -> Iterator[str]:
    yield f"- severity: {rule.severity}"
    elsewhere = sorted(rule.confidence_in.items())
    yield f"- confidence: {rule.confidence:g}" + "".join(f", {each:g} in {where}" for where, each in elsewhere)
    if rule.references:
        yield f"- references: {', '.join(map(_inline, rule.references))}"
    if rule.replaces:
        yield f"- replaces: {_names(rule.replaces)}"


def _inline(text: str) -> str:
    """Our own words on one line; nothing in them is taken for HTML, or for an edge of a table."""
    parts = CODE.split(visible(" ".join(text.split())))
    parts[::2] = [part.replace("&", "&amp;").replace("<", "&lt;") for part in parts[::2]]
    return "".join(parts).replace("|", "\\|")


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _words(family: str) -> str:
    return family.replace("_", " ").capitalize()


def _anchor(rule: Rule) -> str:
    """As code hosts make it from the heading."""
    heading = f"{rule.id}: {rule.title}".lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
