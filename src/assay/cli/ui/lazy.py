"""Commands that are imported when they are called, so that `--help` does not load the whole server."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group


@dataclass(frozen=True)
class LazyCommand:
    """The `module:name` of a function or a Typer app, and its line in the list of commands."""

    target: str
    summary: str


class LazyGroup(TyperGroup):
    """A command group that lists its commands without importing them."""

    lazy_commands: ClassVar[Mapping[str, LazyCommand]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, lazy in self.lazy_commands.items():
            self.add_command(TyperCommand(name=name, help=lazy.summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that the arguments name, importing its module."""
        name, command, rest = super().resolve_command(ctx, args)
        lazy = self.lazy_commands.get(name or "")
        return name, load(lazy.target) if lazy else command, rest


def load(target: str) -> TyperCommand | TyperGroup:
    """Import the command at `module:name`, with its options."""
    module, _, name = target.partition(":")
    found = getattr(import_module(module), name)
    if isinstance(found, typer.Typer):
        return get_group(found)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command()(found)
    command = get_command(alone)
    assert isinstance(command, TyperCommand)
    return command
