"""Start-up cost of commands, and the command list."""

import subprocess
import sys
from pathlib import Path

import pytest
from docs.commands import all_commands

from assay import cli
from assay.cli.main import Commands
from assay.cli.ui.lazy import load

SERVER = ("litestar", "sqlalchemy", "asyncpg", "pgqueuer", "uvicorn", "assay.app", "assay.web", "assay.store")
# A folder scan needs none of these modules; a URL does.
NETWORK = ("aiohttp", "uvloop", "obstore", "cryptography", "assay.settings", "assay.github")
EXAMPLE = Path(cli.__file__).parent / "examples" / "csv-profiler"


@pytest.mark.process
@pytest.mark.parametrize(
    ("arguments", "also"),
    [
        (["--help"], ("aiohttp", "pydantic")),
        (["--version"], ("aiohttp",)),
        (["submit", "--help"], ()),
        (["queue", "--help"], ()),
        (["scan", "--help"], NETWORK),
        (["scan", str(EXAMPLE)], NETWORK),
        (["rules", "show", "EX-001"], NETWORK),
    ],
)
def test_help_and_folder_scan_load_no_server(arguments: list[str], also: tuple[str, ...]) -> None:
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "assay", *arguments], capture_output=True, text=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")}
    assert ran.returncode == 0
    assert "assay.cli.main" in loaded
    assert [name for name in loaded if name.startswith((*SERVER, *also))] == []


@pytest.mark.parametrize("name", Commands.lazy_commands)
def test_command_list_matches_the_help(name: str) -> None:
    """The list repeats the first line of each help text so that it loads no command."""
    lazy = Commands.lazy_commands[name]
    told = load(lazy.target).help
    assert told is not None
    assert told.startswith(lazy.summary)


def test_every_command_and_option_has_help() -> None:
    silent = [
        f"{name} {param.name}"
        for name, command in all_commands()
        for param in command.params
        if not getattr(param, "help", None) and not getattr(param, "hidden", False)
    ]
    assert silent == []
    assert [name for name, command in all_commands() if not command.help] == []
