"""Abstract values of a program: possible texts, taints, names and elements."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assay.scan.flow.taint import (
    HOLE,
    NAMED,
    NOTHING,
    PRINTED_BY,
    CodeContext,
    Taint,
    Taints,
    merge_taints,
    merge_texts,
    one_of,
)

_NAMES = 4
_ITEMS = 512


@dataclass(frozen=True, slots=True)
class ProgramValue:
    """An abstract value: possible texts, taints, qualified names (os.system, socket.socket()) and elements."""

    texts: tuple[str, ...] = ()
    taints: Taints = NOTHING
    names: tuple[str, ...] = ()
    items: tuple["ProgramValue", ...] | None = None

    @property
    def known_text(self) -> str | None:
        """The only possible text, if it has no unknown parts."""
        if len(self.texts) == 1 and HOLE not in self.texts[0] and NAMED not in self.texts[0]:
            return self.texts[0]
        return None

    def with_taints(self, *taints: Taint) -> "ProgramValue":
        return ProgramValue(self.texts, merge_taints((self.taints, frozenset(taints))), self.names, self.items)


UNKNOWN = ProgramValue()


def any_of(values: Iterable[ProgramValue]) -> ProgramValue:
    """Return a value that may be any of these."""
    values = [value for value in values if value is not UNKNOWN]
    if len(values) <= 1:
        return values[0] if values else UNKNOWN
    names = tuple(dict.fromkeys(name for value in values for name in value.names))[:_NAMES]
    items = values[0].items if all(value.items == values[0].items for value in values) else None
    return ProgramValue(merge_texts(v.texts for v in values), one_of(v.taints for v in values), names, items)


def all_of(values: Iterable[ProgramValue]) -> ProgramValue:
    """Return a collection of these values."""
    values = list(values)
    return ProgramValue((), merge_taints(v.taints for v in values), (), items_of(values))


def items_of(values: Sequence[ProgramValue]) -> tuple[ProgramValue, ...] | None:
    """Return the elements of a collection, or None if there are too many. Nesting is limited to two levels."""
    if len(values) > _ITEMS:
        return None
    return tuple(_flat(value) if value.items else value for value in values)


def _flat(value: ProgramValue) -> ProgramValue:
    if any(item.items is not None for item in value.items or ()):
        return ProgramValue(value.texts, value.taints, value.names)
    return value


@dataclass(slots=True)
class Routine:
    """A function of the program: its parameters and return value, joined over all calls."""

    parameters: dict[str, ProgramValue] = field(default_factory=dict)
    returned: ProgramValue = UNKNOWN
    polled: bool = False


@dataclass(slots=True)
class VariableScope:
    """The variables of a function, and the enclosing scope."""

    name: str
    variables: dict[str, ProgramValue]
    outer: "VariableScope | None" = None
    owner: str = ""

    def find(self, name: str) -> ProgramValue | None:
        scope: VariableScope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            scope = scope.outer
        return None


def command_of(value: ProgramValue) -> tuple[tuple[str, ...], Taints]:
    """Return the possible command lines as a shell reads them. Lists are quoted, and tainted variables become holes."""
    if value.items is None:
        return tuple(_with_hole(text, value.taints) for text in value.texts or (HOLE,)), value.taints
    words = []
    for item in value.items[:200]:
        text = _with_hole(item.texts[0] if item.texts else HOLE, item.taints)
        words.append(
            text if text and not set(text) & set(" '\"\\$`|&;()<>#*?\n") else "'" + text.replace("'", "'\\''") + "'"
        )
    return (" ".join(words),), value.taints


def _with_hole(text: str, taints: Taints) -> str:
    if not taints or HOLE in text or NAMED not in text:
        return text
    return "".join(piece if at % 2 == 0 else HOLE for at, piece in enumerate(text.split(NAMED)))


def command_context(taints: Taints, command: str, files: dict[str, Taints]) -> CodeContext:
    """Return the context of a command: the taints of its holes, and the files that it names."""
    held = ((key, taints) for key, taints in files.items() if taints and len(key) > 2)
    named = tuple((key, taints) for key, taints in held if _called(key) in command)
    return CodeContext(taints, named[:8])


def _called(key: str) -> str:
    """Return the name by which a command refers to a file. A script may be called from any folder."""
    return key.rpartition("/")[2].removeprefix(PRINTED_BY) if key.startswith(PRINTED_BY) else key
