"""The reference of the command line, made from the commands themselves."""

import re
from collections.abc import Iterator

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from assay.cli.main import Commands
from assay.cli.ui.lazy import load

ESCAPED_BAR = "\\|"
# Lines of a help that begin with a number and two spaces are a list.
LISTED = re.compile(r"^(\d)  ", re.MULTILINE)


def command_reference() -> str:
    """Every command with its own help, its arguments and its options."""
    return "\n\n".join(_section(name, command) for name, command in all_commands())


def all_commands() -> Iterator[tuple[str, TyperCommand | TyperGroup]]:
    """Each command by the words that call it; a group comes before its verbs."""
    for name, lazy in Commands.lazy_commands.items():
        command = load(lazy.place)
        yield f"assay {name}", command
        if isinstance(command, TyperGroup):
            for verb, each in command.commands.items():
                yield f"assay {name} {verb}", each


def shown_params(command: TyperCommand | TyperGroup) -> Iterator[tuple[str, str]]:
    """Arguments and options as they are typed, each with its help."""
    for each in command.params:
        if isinstance(each, TyperArgument):
            yield f"{each.metavar or each.name.upper()}{' …' if each.nargs == -1 else ''}", each.help or ""
        elif isinstance(each, TyperOption) and not each.hidden:
            value = "" if each.is_flag else f" {each.metavar or each.name.upper()}"
            yield f"{', '.join(each.opts)}{value}", each.help or ""


def _section(name: str, command: TyperCommand | TyperGroup) -> str:
    rows = [f"| `{typed.replace('|', ESCAPED_BAR)}` | {told} |" for typed, told in shown_params(command)]
    table = ["\n".join(["| | |", "|---|---|", *rows])] if rows else []
    return "\n\n".join([f"### `{name}`", LISTED.sub(r"- `\1` ", command.help or ""), *table])
