"""The command line reference, generated from the commands."""

import re
from collections.abc import Iterator

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from assay.cli.main import Commands
from assay.cli.ui.lazy import load

ESCAPED_BAR = "\\|"
# Lines of a help text that start with a digit and two spaces become a list.
LISTED = re.compile(r"^(\d)  ", re.MULTILINE)


def command_reference() -> str:
    """Return a section per command with its help, arguments and options."""
    return "\n\n".join(_section(name, command) for name, command in all_commands())


def all_commands() -> Iterator[tuple[str, TyperCommand | TyperGroup]]:
    """Yield each command by its full name; a group comes before its subcommands."""
    for name, lazy in Commands.lazy_commands.items():
        command = load(lazy.target)
        yield f"assay {name}", command
        if isinstance(command, TyperGroup):
            for verb, each in command.commands.items():
                yield f"assay {name} {verb}", each


def shown_params(command: TyperCommand | TyperGroup) -> Iterator[tuple[str, str]]:
    """Yield arguments and options as they are typed, each with its help."""
    for each in command.params:
        if isinstance(each, TyperArgument):
            yield f"{each.metavar or each.name.upper()}{' …' if each.nargs == -1 else ''}", each.help or ""
        elif isinstance(each, TyperOption) and not each.hidden:
            value = "" if each.is_flag else f" {each.metavar or each.name.upper()}"
            yield f"{', '.join(each.opts)}{value}", each.help or ""


def _section(name: str, command: TyperCommand | TyperGroup) -> str:
    rows = [f"| `{typed.replace('|', ESCAPED_BAR)}` | {text} |" for typed, text in shown_params(command)]
    table = ["\n".join(["| | |", "|---|---|", *rows])] if rows else []
    return "\n\n".join([f"### `{name}`", LISTED.sub(r"- `\1` ", command.help or ""), *table])
