"""What a value carries from where it was read to where it ends, and what it means when it arrives there."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

# Stands in a text for a piece that is only known when the code runs.
HOLE = "\ue000"
# Stands around the name of a variable that is only known when the code runs, so that a path built on it is recognised.
NAMED = "\ue001"
# A value keeps so many alternatives and taints; more would not change what is reported.
_ALTERNATIVES = 8
_TAINTS = 12
# Longer texts are not put together: repeated doubling would cost more than the code it was written with.
TEXT_LIMIT = 16_384
_SHOWN = 120
_NAMED_PIECE = re.compile(NAMED + r"[\w.]*?(\w+)" + NAMED)


class Language(StrEnum):
    PYTHON = "python"
    SHELL = "shell"
    JAVASCRIPT = "javascript"


class FlowKind(StrEnum):
    SECRET_SENT = "secret-sent"  # noqa: S105 (a name, not a password)
    HOST_DATA_SENT = "host-data-sent"
    DOWNLOAD_RUN = "download-run"
    DECODED_RUN = "decoded-run"
    REMOTE_SHELL = "remote-shell"
    PERSISTED = "persisted"
    HIDDEN_NAME = "hidden-name"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Flow:
    """Something that reaches a place where it does harm; lines are counted from 1."""

    kind: FlowKind
    line: int
    source_line: int
    source: str
    sink: str


class Origin(StrEnum):
    """Where a tainted value comes from."""

    SECRET = "secret"  # noqa: S105 (a name, not a password)
    SETTINGS = "settings"  # a program's own configuration: ordinary as a login, not as a cargo
    TOKEN = "token"  # noqa: S105 (one credential of one service)
    HOST = "host"
    FETCHED = "fetched"
    DECODED = "decoded"
    RECEIVED = "received"
    LISTED = "listed"  # a path found by walking through a folder
    ASSEMBLED = "assembled"  # a sensitive name that was put together from pieces


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    line: int
    origin: Origin
    text: str


Taints = frozenset[Taint]
NOTHING: Taints = frozenset()


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a value: the texts it may be, with holes, and where its content comes from."""

    texts: tuple[str, ...] = ()
    taints: Taints = NOTHING


NO_VALUE = Value()


# Before the name of a script, it stands for what that script prints, as if it were a file.
PRINTED_BY = "|"
# What files hold, by their paths.
Files = tuple[tuple[str, Taints], ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found in a piece of code, what its output carries, what it leaves in files, and what each of its files
    prints.
    """

    flows: tuple[Flow, ...] = ()
    output: Value = NO_VALUE
    files: Files = ()
    printed: tuple[Taints, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A file among those that are read as one program: the line that it begins on, and what it imports by which name;
    a name that is only found somewhere in the skill may mean something else.
    """

    line: int
    imports: tuple[tuple[str, "Import"], ...] = ()


@dataclass(frozen=True, slots=True)
class Import:
    """The number of the part that a name stands for, and whether it surely does."""

    part: int
    is_sure: bool


@dataclass(frozen=True, slots=True)
class Given:
    """What is known before code is read: what its holes carry, what files hold that were written before, and the files
    that it consists of, if they are several.
    """

    taints: Taints = NOTHING
    files: Files = ()
    parts: tuple[Part, ...] = ()


# Reads code that stands inside other code; the number is the line that it stands on.
ReadCode = Callable[[Language, str, Given, int], Reading]


def merge_taints(groups: Iterable[Taints]) -> Taints:
    """All of them, or the first few by line when there are many."""
    filled = [group for group in groups if group]
    if len(filled) <= 1:
        return filled[0] if filled else NOTHING
    merged = NOTHING.union(*filled)
    return merged if len(merged) <= _TAINTS else frozenset(sorted(merged)[:_TAINTS])


def merge_texts(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The alternatives of all groups, each once."""
    merged = dict.fromkeys(text for group in groups for text in group)
    return tuple(merged)[:_ALTERNATIVES]


def join_texts(pieces: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The texts that come of writing one alternative of each piece after the other."""
    joined: list[list[str]] = [[]]
    for alternatives in pieces:
        options = alternatives or (HOLE,)
        if len(options) == 1 or len(joined) * len(options) > _ALTERNATIVES:
            for text in joined:
                text.append(options[0])
        else:
            joined = [[*text, option] for text in joined for option in options]
    return tuple(dict.fromkeys(_bounded(text) for text in joined))


def _bounded(pieces: list[str]) -> str:
    if len(pieces) > 1 and sum(map(len, pieces)) > TEXT_LIMIT:
        return HOLE
    return "".join(pieces)


def shorten(text: str) -> str:
    """Text as it is shown in a flow: one line, with an ellipsis for what is not known."""
    text = _NAMED_PIECE.sub(r"$\1", text[: _SHOWN * 4]).replace(HOLE, "…").replace(NAMED, "")
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def flows_of_sending(taints: Taints, line: int, sink: str, *, login: bool = False) -> list[Flow]:
    """The flows of content that leaves; a login header may carry what a service's own client keeps."""
    if not taints:
        return []
    secrets = [taint for taint in taints if taint.origin is Origin.SECRET]
    if not login:
        secrets += [taint for taint in taints if taint.origin is Origin.SETTINGS]
        secrets += _several_services(taints)
    flows = [_flow(FlowKind.SECRET_SENT, taint, line, sink) for taint in _first(secrets)]
    hosts = [taint for taint in taints if taint.origin is Origin.HOST]
    if not login:
        flows += [_flow(FlowKind.HOST_DATA_SENT, taint, line, sink) for taint in _first(hosts)]
    return flows


def flows_of_running(taints: Taints, line: int, sink: str, *, polling: bool = False) -> list[Flow]:
    """The flows of content that is executed; fetched again and again it is somebody's shell."""
    flows = []
    for taint in sorted(taints):
        match taint.origin:
            case Origin.FETCHED:
                kind = FlowKind.REMOTE_SHELL if polling else FlowKind.DOWNLOAD_RUN
                flows.append(_flow(kind, taint, line, sink))
            case Origin.DECODED:
                flows.append(_flow(FlowKind.DECODED_RUN, taint, line, sink))
            case Origin.RECEIVED:
                flows.append(_flow(FlowKind.REMOTE_SHELL, taint, line, sink))
            case Origin.ASSEMBLED:
                flows.append(_flow(FlowKind.HIDDEN_NAME, taint, line, sink))
            case Origin.SECRET | Origin.SETTINGS | Origin.TOKEN | Origin.HOST | Origin.LISTED:
                continue
    return list({flow.kind: flow for flow in reversed(flows)}.values())


def one_of(values: Iterable[Taints]) -> Taints:
    """What a value carries that is one of these: of several tokens it is only one."""
    merged = merge_taints(values)
    tokens = [taint for taint in merged if taint.origin is Origin.TOKEN]
    return merged.difference(sorted(tokens)[1:]) if len(tokens) > 1 else merged


def picked_from(taints: Taints, name: str) -> Taints:
    """One value picked out of a program's own settings is its login, not the settings."""
    if not any(taint.origin is Origin.SETTINGS for taint in taints):
        return taints
    return frozenset(Taint(t.line, Origin.TOKEN, name or t.text) if t.origin is Origin.SETTINGS else t for t in taints)


def flow_of(kind: FlowKind, source: str, source_line: int, line: int, sink: str) -> Flow:
    """A flow with its texts as they are shown."""
    return Flow(kind, line, source_line, shorten(source), shorten(sink))


def _several_services(taints: Taints) -> list[Taint]:
    """Tokens of different services in one message: no single service needs them."""
    tokens = sorted(taint for taint in taints if taint.origin is Origin.TOKEN)
    services = {re.split(r"[_.\-]", token.text)[0].upper() for token in tokens}
    if len(services) < 2:
        return []
    names = ", ".join(dict.fromkeys(token.text for token in tokens))
    return [Taint(tokens[0].line, Origin.TOKEN, names)]


def _first(taints: list[Taint]) -> list[Taint]:
    return sorted(taints)[:1]


def _flow(kind: FlowKind, taint: Taint, line: int, sink: str) -> Flow:
    return flow_of(kind, taint.text, taint.line, line, sink)
