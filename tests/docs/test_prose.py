"""`tools/check_prose.py` finds the phrases it rejects wherever people read them, and nothing in code."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("check_prose", ROOT / "tools" / "check_prose.py")
assert SPEC is not None
assert SPEC.loader is not None
check_prose = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_prose)
REJECTED = "the index is built " + "anew"
CLAUSE = "Wh" + "at is left of the budget."


def check(folder: Path, name: str, content: str) -> list[str]:
    file = folder / name
    file.write_text(content)
    return list(check_prose.check(file))


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_prose, "ROOT", tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.py", f'"""Docstring: {REJECTED}."""\n', 1),
        ("a.py", f"x = 1\n# {REJECTED}\n", 2),
        ("a.py", f'log("Now {REJECTED} for all")\n', 1),
        ("a.py", f'def left():\n    """{CLAUSE}"""\n', 2),
        ("a.md", f"Title\n\nToday {REJECTED}.\n", 3),
        ("a.html", f"<p>\n{REJECTED}</p>", 2),
        ("a.json", f'{{"description": "Today {REJECTED}."}}', 1),
        ("a.json", f'{{"paths": [{{"summary": "{CLAUSE}"}}]}}', 1),
    ],
)
def test_rejected_phrase_is_reported_with_its_line(tmp_path: Path, name: str, content: str, line: int) -> None:
    (problem,) = check(tmp_path, name, content)
    assert problem.startswith(f"{name}:{line}: ")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.py", f'"""Rebuild the index."""\nkey = "{REJECTED.replace(" ", "_")}"\n'),
        ("a.py", f'"""Explain `{REJECTED}`."""\n'),
        ("a.py", '"""What is a skill?"""\n'),
        ("a.md", f"```\n{REJECTED}\n```\n"),
        ("a.html", f"{{{{ '{REJECTED}' }}}}"),
    ],
)
def test_code_and_questions_are_not_reported(tmp_path: Path, name: str, content: str) -> None:
    assert check(tmp_path, name, content) == []
