"""Commands that are imported when they are used: a page of help must not load the whole server."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group


@dataclass(frozen=True)
class Lazy:
    """Where a command is (`module:name` of a function or of a Typer), and its line in the list of all."""

    place: str
    line: str


class LazyGroup(TyperGroup):
    """Lists its commands without importing any; imports the one that is called."""

    lazy_commands: ClassVar[Mapping[str, Lazy]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, lazy in self.lazy_commands.items():
            self.add_command(TyperCommand(name=name, help=lazy.line))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments call, with its module imported."""
        name, command, rest = super().resolve_command(ctx, args)
        lazy = self.lazy_commands.get(name or "")
        return name, load(lazy.place) if lazy else command, rest


def load(place: str) -> TyperCommand | TyperGroup:
    """The real command, with its options."""
    found = found_at(place)
    if isinstance(found, typer.Typer):
        return get_group(found)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command()(found)
    command = get_command(alone)
    assert isinstance(command, TyperCommand)
    return command


def found_at(place: str) -> Any:
    """What is called so, with its module imported: also for parts of a command that only some calls of it need."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
