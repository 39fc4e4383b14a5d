"""Reject phrases that CONTRIBUTING.md rules out, in docstrings, comments, messages, pages and documentation.

Run by `make lint`. It finds typical phrases only; a clean run does not replace reading the text.
"""

import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
# Judge prompts are part of the key of stored judgements and must not change; the glossary lists the words it replaces.
EXEMPT = {"src/assay/llm/passes.py", "src/assay/llm/prompt.py", "docs/glossary.md", "tools/check_prose.py"}
# Rule texts are part of the ruleset digest, so the pages generated from them are exempt as well.
EXEMPT_FOLDERS = ("docs/rules/", "src/assay/scan/rules/", "src/assay/cli/examples/")

PHRASES = {
    r"anew": "again, or name the action (rebuild, recreate)",
    r"whoever": "name the actor",
    r"(?:no|some)body(?:'s)?": "name the actor, or use the passive",
    r"so (?:many|much|long)(?! (?:as|that)\b)": "give the number or the unit",
    r"(?:is|are|was|were|be|been) told(?! (?:to|not|apart)\b)": "is logged, returned or shown",
    r"(?:goes|go|gone|going|went) on with": "continues, resumes",
    r"gravest": "most severe",
    r"(?:is|are|was|were|be|being) away": "is down, is unavailable",
    r"(?:what|which) (?:is|was|are|were) out": "published",
    r"put(?:s|ting)? out": "publish",
    r"hand(?:s|ed|ing)? in": "submit",
    r"what (?:became|becomes|has become) of": "the outcome of",
    r"once more": "again",
    r"in (?:no|every|any)one's way": "does not block others",
    r"by the word of": "according to",
    r"a person's word": "a review",
    r"take(?:s|n)? (?:its|their) place": "replaces",
    r"of (?:ours|its own accord)": "our, or name the component",
    r"says? of (?:itself|themselves)": "declares, describes",
    r"bab(?:ble|bling)": "plain wording",
}
PHRASE = re.compile(r"\b(?:" + "|".join(f"({pattern})" for pattern in PHRASES) + r")(?!\w)", re.IGNORECASE)
REMEDIES = tuple(PHRASES.values())
NOUN_CLAUSE = re.compile(r"(?:What|Whether|Where|Who|Whoever|Whatever|Whose|How)\b[^?]*$", re.DOTALL)


class Text(NamedTuple):
    """A piece of prose and the line on which it starts."""

    line: int
    text: str
    is_sentence: bool


def main() -> int:
    problems = [problem for file in _files() for problem in check(file)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def check(file: Path) -> Iterator[str]:
    """Yield one line for each phrase found in a file."""
    name = file.relative_to(ROOT).as_posix()
    for text in _texts(file):
        prose = re.sub(r"`[^`\n]*`", _blank, text.text)
        for match in PHRASE.finditer(prose):
            line = text.line + prose.count("\n", 0, match.start())
            assert match.lastindex is not None
            yield f"{name}:{line}: {match[0]!r}: {REMEDIES[match.lastindex - 1]}"
        if text.is_sentence and NOUN_CLAUSE.match(text.text.strip()):
            yield f"{name}:{text.line}: starts with a relative clause used as a noun: {text.text.strip()[:60]!r}"


def _files() -> Iterator[Path]:
    for pattern in (
        "src/assay/**/*.py",
        "src/assay/**/*.html",
        "src/assay/**/*.js",
        "tests/**/*.py",
        "benchmarks/*.py",
        "fuzz/*.py",
        "tools/*.py",
        "docs/**/*.py",
        "**/*.md",
        "docs/openapi.json",
        "Makefile",
        "action.yml",
    ):
        for file in sorted(ROOT.glob(pattern)):
            name = file.relative_to(ROOT).as_posix()
            is_hidden = any(part.startswith(".") or part == "data" for part in Path(name).parts)
            if not is_hidden and name not in EXEMPT and not name.startswith(EXEMPT_FOLDERS):
                yield file


def _texts(file: Path) -> Iterator[Text]:
    content = file.read_text()
    if file.suffix == ".py":
        is_test = file.is_relative_to(ROOT / "tests")
        yield from _python_texts(content, with_messages=not is_test)
    elif file.suffix == ".json":
        yield from _described(json.loads(content))
    elif file.suffix == ".html":
        yield Text(1, re.sub(r"\{\{.*?\}\}|\{%.*?%\}", _blank, content, flags=re.DOTALL), is_sentence=False)
    elif file.suffix == ".md":
        yield from _markdown_texts(content)
    else:
        yield Text(1, content, is_sentence=False)


def _python_texts(content: str, *, with_messages: bool) -> Iterator[Text]:
    tree = ast.parse(content)
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = ast.get_docstring(node, clean=False)
        if text is not None:
            docstrings.add(id(node.body[0].value))  # type: ignore[attr-defined]
            yield Text(node.body[0].lineno, text, is_sentence=True)
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield Text(token.start[0], token.string.lstrip("# "), is_sentence=token.line.lstrip().startswith("#"))
    if with_messages:
        for node in ast.walk(tree):
            # Text of several words is a message, a description or a help text; one word is a name.
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
            if is_text and node.value.count(" ") > 1:
                yield Text(node.lineno, node.value, is_sentence=False)


def _markdown_texts(content: str) -> Iterator[Text]:
    yield Text(1, re.sub(r"^(`{3,}).*?^\1", _blank, content, flags=re.DOTALL | re.MULTILINE), is_sentence=False)


def _described(value: object) -> Iterator[Text]:
    """Yield the summaries and descriptions of an OpenAPI document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("summary", "description") and isinstance(inner, str):
                yield Text(1, inner, is_sentence=True)
            else:
                yield from _described(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _described(inner)


def _blank(match: re.Match[str]) -> str:
    """Replace code by spaces, keeping the line numbers."""
    return re.sub(r"[^\n]", " ", match[0])


if __name__ == "__main__":
    sys.exit(main())
