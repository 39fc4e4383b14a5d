"""What is known of a value of a program while the program is read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assay.scan.flow.taint import (
    HOLE,
    NAMED,
    NOTHING,
    PRINTED_BY,
    Given,
    Taint,
    Taints,
    merge_taints,
    merge_texts,
    one_of,
)

_NAMES = 4
_ITEMS = 512


@dataclass(frozen=True, slots=True)
class Known:
    """The texts it may be, where it comes from, the names it goes by (os.system, socket.socket()), and its elements."""

    texts: tuple[str, ...] = ()
    taints: Taints = NOTHING
    names: tuple[str, ...] = ()
    items: tuple["Known", ...] | None = None

    @property
    def known(self) -> str | None:
        """The one text it is, if nothing of it is open."""
        if len(self.texts) == 1 and HOLE not in self.texts[0] and NAMED not in self.texts[0]:
            return self.texts[0]
        return None

    def with_taints(self, *taints: Taint) -> "Known":
        return Known(self.texts, merge_taints((self.taints, frozenset(taints))), self.names, self.items)


UNKNOWN = Known()


def any_of(values: Iterable[Known]) -> Known:
    """One value that may be any of these."""
    values = [value for value in values if value is not UNKNOWN]
    if len(values) <= 1:
        return values[0] if values else UNKNOWN
    names = tuple(dict.fromkeys(name for value in values for name in value.names))[:_NAMES]
    items = values[0].items if all(value.items == values[0].items for value in values) else None
    return Known(merge_texts(v.texts for v in values), one_of(v.taints for v in values), names, items)


def all_of(values: Iterable[Known]) -> Known:
    """A collection of these."""
    values = list(values)
    return Known((), merge_taints(v.taints for v in values), (), items_of(values))


def items_of(values: Sequence[Known]) -> tuple[Known, ...] | None:
    """The elements of a collection, if they are few; a list in a list in a list is only known to be one."""
    if len(values) > _ITEMS:
        return None
    return tuple(_flat(value) if value.items else value for value in values)


def _flat(value: Known) -> Known:
    if any(item.items is not None for item in value.items or ()):
        return Known(value.texts, value.taints, value.names)
    return value


@dataclass(slots=True)
class Routine:
    """A function of the program: what it is called with and what it returns, joined over all calls."""

    parameters: dict[str, Known] = field(default_factory=dict)
    returned: Known = UNKNOWN
    polled: bool = False


@dataclass(slots=True)
class Scope:
    """The variables of a function, and those around it."""

    name: str
    variables: dict[str, Known]
    outer: "Scope | None" = None
    owner: str = ""

    def find(self, name: str) -> Known | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            scope = scope.outer
        return None


def command_of(value: Known) -> tuple[tuple[str, ...], Taints]:
    """A command line as a shell would be given it; lists are written out, what is tainted becomes a hole."""
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


def given_of(taints: Taints, command: str, files: dict[str, Taints]) -> Given:
    """What a command inherits: taints for its holes, and the files that it names."""
    held = ((key, taints) for key, taints in files.items() if taints and len(key) > 2)
    named = tuple((key, taints) for key, taints in held if _called(key) in command)
    return Given(taints, named[:8])


def _called(key: str) -> str:
    """How a command names a file; a script that is run may be called from anywhere."""
    return key.rpartition("/")[2].removeprefix(PRINTED_BY) if key.startswith(PRINTED_BY) else key
