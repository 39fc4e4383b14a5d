"""The documentation says what the code does."""

import re
import subprocess
from pathlib import Path

import pytest
from docs.commands import all_commands, shown_params
from docs.generate import generated
from typer.main import get_command

from assay.cli.exits import MOST_SEVERE_FIRST, Exit
from assay.cli.main import app
from assay.settings import Settings, variable

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("path", generated(), ids=lambda path: path.name)
def test_generated_parts_are_fresh(path: Path) -> None:
    """The state diagram, the settings and the OpenAPI document are made from the code: run `make docs`."""
    assert path.read_text() == generated()[path]


def test_every_setting_is_documented_and_nothing_else() -> None:
    """R20: docs/operations.md and the code name the same variables."""
    text = (ROOT / "docs" / "operations.md").read_text()
    documented = set(re.findall(r"^\| `(ASSAY_\w+)` \|", text, re.MULTILINE))
    assert documented == {variable(name) for name in Settings.model_fields}
    mentioned = {
        name for file in ROOT.rglob("docs/**/*.md") for name in re.findall(r"ASSAY_[A-Z_]+[A-Z]", file.read_text())
    }
    assert mentioned <= documented | {"ASSAY_CONFIG"}


def test_every_command_is_documented() -> None:
    """A verb that the help lists is in docs/operations.md, and the other way round."""
    text = (ROOT / "docs" / "operations.md").read_text()
    documented = set(re.findall(r"^\| `assay (\w+)` \|", text, re.MULTILINE))
    assert documented == set(get_command(app).commands)


def test_every_exit_code_is_documented() -> None:
    """The tables of exit codes have exactly those that the command line uses; Ctrl-C is no outcome."""
    for name, codes in (("cli.md", set(Exit)), ("operations.md", set(Exit) - {Exit.INTERRUPTED})):
        text = (ROOT / "docs" / name).read_text()
        assert codes == {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}


def test_every_verb_and_option_is_documented() -> None:
    """docs/cli.md has each as people type it; the codes of `submit` and their order are there and in its own help."""
    text = (ROOT / "docs" / "cli.md").read_text()
    for name, command in all_commands():
        section = text.partition(f"### `{name}`\n")[2].partition("\n### ")[0]
        assert [typed for typed, _ in shown_params(command) if typed.replace("|", "\\|") not in section] == []
    order = ", ".join(str(int(code)) for code in MOST_SEVERE_FIRST if code is not Exit.DONE)
    told = dict(all_commands())["assay submit"].help
    assert text.count(order) == 2
    assert order in told
    assert re.findall(r"^(\d)  ", told, re.MULTILINE) == [str(code) for code in range(9)]


def test_readme_names_the_two_commands() -> None:
    """A newcomer finds what to type."""
    readme = (ROOT / "README.md").read_text()
    assert "make up" in readme
    assert "make test" in readme


def test_links_lead_somewhere() -> None:
    """No page of the documentation links to a file that is not there."""
    broken = []
    for file in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", file.read_text()):
            if not (file.parent / target).exists():
                broken.append(f"{file.name}: {target}")
    assert broken == []


def test_lock_files_name_no_index() -> None:
    """Names, versions and hashes only, so that they install from wherever a machine gets its packages."""
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text()
        assert "://" not in text
        assert "--hash=sha256:" in text


def test_no_secret_is_committed() -> None:
    """I65: nothing in the repository looks like a live token or a private key."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    token = re.compile(
        rb"gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{60,}|AKIA[0-9A-Z]{16}|BEGIN [A-Z ]*PRIVATE KEY-----\n[A-Za-z0-9+/]{40}"
    )
    guilty = [name for name in files.decode().split("\0") if name and token.search((ROOT / name).read_bytes())]
    assert guilty == []
