"""Taints: the origins of a value, and the flows that result when it is sent, run or stored."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

# Placeholder for text that is only known at run time.
HOLE = "\ue000"
# Encloses the name of a variable whose value is only known at run time, so that paths built on it are recognised.
NAMED = "\ue001"
# Limits of alternatives and taints per value; more would not change what is reported.
_ALTERNATIVES = 8
_TAINTS = 12
# Longer texts are not built: repeated doubling would cost more than the code that requests it.
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
    """Data that reaches a harmful sink. Lines are counted from 1."""

    kind: FlowKind
    line: int
    source_line: int
    source: str
    sink: str


class TaintOrigin(StrEnum):
    """The origin of a tainted value."""

    SECRET = "secret"  # noqa: S105 (a name, not a password)
    SETTINGS = "settings"  # a program's own configuration: ordinary as a login, suspicious as a payload
    TOKEN = "token"  # noqa: S105 (one credential of one service)
    HOST = "host"
    FETCHED = "fetched"
    DECODED = "decoded"
    RECEIVED = "received"
    LISTED = "listed"  # a path found by walking a folder
    ASSEMBLED = "assembled"  # a sensitive name assembled from pieces


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    line: int
    origin: TaintOrigin
    text: str


Taints = frozenset[Taint]
NOTHING: Taints = frozenset()


@dataclass(frozen=True, slots=True)
class Value:
    """An abstract value: its possible texts, with holes, and its taints."""

    texts: tuple[str, ...] = ()
    taints: Taints = NOTHING


NO_VALUE = Value()


# Prefix of a script's name that stands for the script's output, as if it were a file.
PRINTED_BY = "|"
# The taints of files, by path.
Files = tuple[tuple[str, Taints], ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of an analysis: the flows, the output, the files written, and the output of each file of a program."""

    flows: tuple[Flow, ...] = ()
    output: Value = NO_VALUE
    files: Files = ()
    printed: tuple[Taints, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramPart:
    """A file of a program: its first line, and its imports by name. An import that was found only by its name,
    somewhere in the skill, is uncertain.
    """

    line: int
    imports: tuple[tuple[str, "Import"], ...] = ()


@dataclass(frozen=True, slots=True)
class Import:
    """The index of the part that a name refers to, and whether that is certain."""

    part: int
    is_sure: bool


@dataclass(frozen=True, slots=True)
class CodeContext:
    """The context of code: the taints of its holes, the content of files written earlier, and the files that the code
    consists of, if there are several.
    """

    taints: Taints = NOTHING
    files: Files = ()
    parts: tuple[ProgramPart, ...] = ()


# Analyses code nested in other code; the number is the line of the nested code.
AnalyseCode = Callable[[Language, str, CodeContext, int], Analysis]


def merge_taints(groups: Iterable[Taints]) -> Taints:
    """Merge taints; if there are too many, keep the first by line."""
    filled = [group for group in groups if group]
    if len(filled) <= 1:
        return filled[0] if filled else NOTHING
    merged = NOTHING.union(*filled)
    return merged if len(merged) <= _TAINTS else frozenset(sorted(merged)[:_TAINTS])


def merge_texts(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Merge alternatives, without duplicates and up to the limit."""
    merged = dict.fromkeys(text for group in groups for text in group)
    return tuple(merged)[:_ALTERNATIVES]


def join_texts(pieces: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Concatenate one alternative of each piece, in all combinations up to the limit."""
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
    """Return text as shown in a flow: one line, with an ellipsis for unknown parts."""
    text = _NAMED_PIECE.sub(r"$\1", text[: _SHOWN * 4]).replace(HOLE, "…").replace(NAMED, "")
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def flows_of_sending(taints: Taints, line: int, sink: str, *, login: bool = False) -> list[Flow]:
    """Return the flows of sending data. A login header may carry the credentials of the service's own client."""
    if not taints:
        return []
    secrets = [taint for taint in taints if taint.origin is TaintOrigin.SECRET]
    if not login:
        secrets += [taint for taint in taints if taint.origin is TaintOrigin.SETTINGS]
        secrets += _several_services(taints)
    flows = [_flow(FlowKind.SECRET_SENT, taint, line, sink) for taint in _first(secrets)]
    hosts = [taint for taint in taints if taint.origin is TaintOrigin.HOST]
    if not login:
        flows += [_flow(FlowKind.HOST_DATA_SENT, taint, line, sink) for taint in _first(hosts)]
    return flows


def flows_of_running(taints: Taints, line: int, sink: str, *, polling: bool = False) -> list[Flow]:
    """Return the flows of executing data. Fetching it repeatedly makes it a remote shell."""
    flows = []
    for taint in sorted(taints):
        match taint.origin:
            case TaintOrigin.FETCHED:
                kind = FlowKind.REMOTE_SHELL if polling else FlowKind.DOWNLOAD_RUN
                flows.append(_flow(kind, taint, line, sink))
            case TaintOrigin.DECODED:
                flows.append(_flow(FlowKind.DECODED_RUN, taint, line, sink))
            case TaintOrigin.RECEIVED:
                flows.append(_flow(FlowKind.REMOTE_SHELL, taint, line, sink))
            case TaintOrigin.ASSEMBLED:
                flows.append(_flow(FlowKind.HIDDEN_NAME, taint, line, sink))
            case TaintOrigin.SECRET | TaintOrigin.SETTINGS | TaintOrigin.TOKEN | TaintOrigin.HOST | TaintOrigin.LISTED:
                continue
    return list({flow.kind: flow for flow in reversed(flows)}.values())


def one_of(values: Iterable[Taints]) -> Taints:
    """Return the taints of a value that is one of these; of several tokens it carries only one."""
    merged = merge_taints(values)
    tokens = [taint for taint in merged if taint.origin is TaintOrigin.TOKEN]
    return merged.difference(sorted(tokens)[1:]) if len(tokens) > 1 else merged


def picked_from(taints: Taints, name: str) -> Taints:
    """Turn settings into a token: one value picked from a program's own settings is its login."""
    if not any(taint.origin is TaintOrigin.SETTINGS for taint in taints):
        return taints
    return frozenset(
        Taint(t.line, TaintOrigin.TOKEN, name or t.text) if t.origin is TaintOrigin.SETTINGS else t for t in taints
    )


def flow_of(kind: FlowKind, source: str, source_line: int, line: int, sink: str) -> Flow:
    """Build a flow, with its texts shortened."""
    return Flow(kind, line, source_line, shorten(source), shorten(sink))


def _several_services(taints: Taints) -> list[Taint]:
    """Return tokens of different services in one message, which no single service needs."""
    tokens = sorted(taint for taint in taints if taint.origin is TaintOrigin.TOKEN)
    services = {re.split(r"[_.\-]", token.text)[0].upper() for token in tokens}
    if len(services) < 2:
        return []
    names = ", ".join(dict.fromkeys(token.text for token in tokens))
    return [Taint(tokens[0].line, TaintOrigin.TOKEN, names)]


def _first(taints: list[Taint]) -> list[Taint]:
    return sorted(taints)[:1]


def _flow(kind: FlowKind, taint: Taint, line: int, sink: str) -> Flow:
    return flow_of(kind, taint.text, taint.line, line, sink)
