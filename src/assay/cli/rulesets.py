"""The ruleset that a command uses: the rules that ship with Assay, and those of a folder beside them."""

import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from assay.model.errors import Invalid
from assay.scan.matcher import RegexEngine
from assay.scan.ruleset import VOCABULARY, Ruleset, load_ruleset, parse_ruleset
from assay.scanners.saved_engine import user_cache_folder, with_saved_engine

RulesetFolder = Annotated[
    Path | None,
    typer.Option(
        "--ruleset",
        metavar="FOLDER",
        help="Rules of your own (*.toml) beside those that ship; a file of the same name takes the place of theirs.",
    ),
]


def read_ruleset(folder: Path | None) -> Ruleset:
    """The rules that ship, and those of the folder. Raises `Invalid`, naming file and rule, if one is malformed."""
    if folder is None:
        return load_ruleset()
    shipped = resources.files("assay.scan").joinpath("rules")
    texts = {each.name: each.read_text("utf-8") for each in shipped.iterdir() if each.name.endswith(".toml")}
    own = _own_files(folder)
    if VOCABULARY in own:
        # The rules that ship need their own lists, whatever others there are.
        own[VOCABULARY] = f"{texts[VOCABULARY]}\n{own[VOCABULARY]}"
    return parse_ruleset(texts | own)


def started(ruleset: Ruleset, *, quickly: bool) -> Ruleset:
    """The same rules on the fast engine; or, for a few skills and if the fast one would first have to be made, on one
    that is slower and needs no seconds to start.
    """
    fast = with_saved_engine(ruleset, user_cache_folder(), wait=not quickly)
    return fast if fast.engine else ruleset.on(RegexEngine(ruleset.patterns))


def own_rule_ids(folder: Path) -> set[str]:
    """The ids of the rules in a folder."""
    return {str(rule.get("id")) for name, text in _own_files(folder).items() for rule in _tables(name, text)}


def _own_files(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise Invalid(f"There is no such folder of rules: {str(folder)!r}.")
    files = {each.name: _text(each) for each in sorted(folder.glob("*.toml"))}
    if not files:
        raise Invalid(f"{str(folder)!r} holds no rules: no file in it ends in .toml.")
    for name, text in files.items():
        _tables(name, text)
    return files


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise Invalid(f"{file.name}: cannot be read: {problem}", code="invalid_rule") from None


def _tables(name: str, text: str) -> list[dict[str, object]]:
    """The rules of a file as they are written; what else is wrong with them is told when they are parsed."""
    try:
        rules = tomllib.loads(text).get("rule", [])
    except tomllib.TOMLDecodeError as problem:
        raise Invalid(f"{name}: {problem}", code="invalid_rule") from None
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise Invalid(f"{name}: rules are written as [[rule]]", code="invalid_rule")
    return rules
