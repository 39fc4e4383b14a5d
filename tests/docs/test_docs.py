"""The documentation matches the code."""

import re
import subprocess
from pathlib import Path

import pytest
from docs.commands import all_commands, shown_params
from docs.generate import generated, obsolete_pages
from docs.guarantees import citations, guarantees
from docs.rule_pages import fenced, rule_pages, visible
from markdown_it import MarkdownIt
from typer.main import get_command

from assay.cli.main import app
from assay.cli.ui.exit_codes import MOST_SEVERE_FIRST, Exit
from assay.scan.ruleset import load_ruleset
from assay.settings import Settings, variable_name

ROOT = Path(__file__).parent.parent.parent
GENERATED = generated()
# Examples and specimens are not links.
FENCED = re.compile(r"^(`{3,})[^`]*?\n.*?^\1$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: str(path.relative_to(ROOT / "docs")))
def test_generated_documentation_is_current(path: Path) -> None:
    """G102: run `make docs` after a change."""
    assert path.read_text() == GENERATED[path]


def test_rule_pages_are_complete() -> None:
    """Every rule is in the index and on its family's page with its specimens."""
    assert obsolete_pages() == []
    pages = rule_pages()
    specimens: dict[str, list[str]] = {}
    for rule in load_ruleset().rules:
        assert f"[{rule.id}](" in pages["README.md"]
        assert f"## {rule.id}: " in pages[f"{rule.family}.md"]
        shown = [f"{visible(text.strip(chr(10)))}\n" for text in (rule.bad, rule.benign)]
        specimens.setdefault(f"{rule.family}.md", []).extend(shown)
    assert set(pages) == {"README.md", *specimens}
    for name, wanted in specimens.items():
        assert [token.content for token in MarkdownIt().parse(pages[name]) if token.type == "fence"] == wanted


def test_specimens_are_inert() -> None:
    """Markdown renders each as one block of text."""
    hostile = (
        "```\n````\n<script>alert(1)</script>\n[x](javascript:alert(1))\n~~~\n\u200b\u202e\U000e0041\ufe0f\u3164\x1b[0m"
    )
    (token,) = MarkdownIt().parse(fenced(hostile))
    assert token.type == "fence"
    assert token.content.endswith("~~~\n\\u200b\\u202e\\U000e0041\\ufe0f\\u3164\\x1b[0m\n")
    for rule in load_ruleset().rules:
        assert [token.type for token in MarkdownIt().parse(fenced(rule.bad))] == ["fence"]
    for page in rule_pages().values():
        assert not [token for token in MarkdownIt().parse(page) if token.type.startswith("html")]


def test_settings_table_is_complete() -> None:
    """G102."""
    text = (ROOT / "docs" / "operations.md").read_text()
    documented = set(re.findall(r"^\| `(ASSAY_\w+)` \|", text, re.MULTILINE))
    assert documented == {variable_name(name) for name in Settings.model_fields}
    mentioned = {
        name for file in ROOT.rglob("docs/**/*.md") for name in re.findall(r"ASSAY_[A-Z_]+[A-Z]", file.read_text())
    }
    assert mentioned <= documented | {"ASSAY_CONFIG"}


def test_commands_table_is_complete() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    documented = set(re.findall(r"^\| `assay ([\w-]+)` \|", text, re.MULTILINE))
    assert documented == set(get_command(app).commands)


def test_exit_code_tables_are_complete() -> None:
    """Ctrl-C is not an outcome."""
    for name, codes in (("cli.md", set(Exit)), ("operations.md", set(Exit) - {Exit.INTERRUPTED})):
        text = (ROOT / "docs" / name).read_text()
        assert codes == {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}


def test_command_reference_is_complete() -> None:
    """Including the exit codes of `submit` and their order."""
    text = (ROOT / "docs" / "cli.md").read_text()
    for name, command in all_commands():
        section = text.partition(f"### `{name}`\n")[2].partition("\n### ")[0]
        assert [typed for typed, _ in shown_params(command) if typed.replace("|", "\\|") not in section] == []
    order = ", ".join(str(int(code)) for code in MOST_SEVERE_FIRST if code is not Exit.DONE)
    told = dict(all_commands())["assay submit"].help
    assert text.count(order) == 2
    assert order in told
    assert re.findall(r"^(\d)  ", told, re.MULTILINE) == [str(code) for code in range(9)]


def test_readme_names_make_up_and_make_test() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "make up" in readme
    assert "make test" in readme


def test_guarantees_and_citations_match() -> None:
    """G102: each guarantee has a test, each cited number exists."""
    listed, cited = guarantees((ROOT / "docs" / "guarantees.md").read_text()), citations()
    assert len(listed) == len(set(listed))
    assert set(listed) == set(cited)
    other = re.compile(r"\b[RI]\d{1,3}[a-z]?\b")
    foreign = {file.name: other.findall(file.read_text()) for file in (ROOT / "tests").rglob("*.py")}
    assert {name: numbers for name, numbers in foreign.items() if numbers} == {}


def test_links_resolve() -> None:
    broken = []
    for file in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", FENCED.sub("", file.read_text())):
            if not (file.parent / target).exists():
                broken.append(f"{file.name}: {target}")
    assert broken == []


def test_lock_files_name_no_index() -> None:
    """They must install from any package index."""
    for name in (
        "requirements-pip.lock",
        "requirements.lock",
        "requirements-dev.lock",
        "src/assay/deepscan/requirements.lock",
    ):
        text = (ROOT / name).read_text()
        assert "://" not in text
        assert "--hash=sha256:" in text


def test_no_secret_is_committed() -> None:
    """G103."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    token = re.compile(
        rb"gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{60,}|AKIA[0-9A-Z]{16}|BEGIN [A-Z ]*PRIVATE KEY-----\n[A-Za-z0-9+/]{40}"
    )
    guilty = [name for name in files.decode().split("\0") if name and token.search((ROOT / name).read_bytes())]
    assert guilty == []
