"""Shell commands that print their input: unchanged, changed or decoded."""

import re
from collections.abc import Callable

from assay.scan.decode.encodings import decode_base64, decode_hex, decode_rot13
from assay.scan.flow.sensitive import name_set
from assay.scan.flow.shell.call import ShellCall, is_option, operands
from assay.scan.flow.shell.words import decode_escapes
from assay.scan.flow.taint import (
    HOLE,
    NOTHING,
    Taint,
    TaintOrigin,
    Taints,
    Value,
    join_texts,
    merge_taints,
    picked_from,
)

_FILTERS = name_set(
    "cat head tail tac sort uniq tr cut paste fold nl less more strings sed awk gawk grep egrep fgrep rg zgrep jq yq"
    " xxd od hexdump base64 base32 openssl gzip bzip2 xz zstd gpg dd column fmt iconv zcat gunzip bat pv sponge rev"
    " tar zip 7z 7za uuencode sqlite3 plutil defaults"
)
_PICKERS = name_set("grep egrep rg jq yq cut awk gawk sed")
_ARCHIVERS = name_set("tar zip 7z 7za gpg openssl dd gzip")
_DECODING = re.compile(r"(?:^|\s)(?:-d|-D|--decode|-\w{0,8}d\w{0,8}|-r|-\w{0,8}r\w{0,8})(?:\s|$)")


def _filter(call: ShellCall) -> Value:
    """Evaluate a command that prints its input, changed or not."""
    read = [call.state.content(argument, call.line) for argument in _inputs(call)]
    taints = merge_taints([call.stdin.taints, *read])
    if call.base in _PICKERS and operands(call.arguments):
        taints = picked_from(taints, "")
    texts = call.stdin.texts
    decoded = _decoded(call, texts)
    if decoded is not None:
        texts, origin = decoded, Taint(call.line, TaintOrigin.DECODED, f"{call.base} {call.line_of_arguments}".strip())
        taints = merge_taints((taints, frozenset({origin})))
    elif call.base not in ("cat", "tee"):
        texts = ()
    _keep_archive(call, taints)
    return Value(texts, taints)


def _inputs(call: ShellCall) -> list[Value]:
    """Return the files that a filter reads, without options and excluded files."""
    inputs: list[Value] = []
    for before, argument in zip([Value(), *call.arguments], call.arguments, strict=False):
        left_out = any(text in ("-x", "--exclude", "--exclude-from", "--exclude-dir") for text in before.texts)
        if not left_out and not any(text.startswith("--exclude") for text in argument.texts):
            inputs.append(argument)
    return inputs


def _decoded(call: ShellCall, texts: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the decoded texts, empty if they are unknown; None if the command does not decode."""
    options = call.line_of_arguments
    match call.base:
        case "base64" | "base32" | "openssl" | "gpg" if _DECODING.search(options):
            return tuple(filter(None, map(decode_base64, texts))) if call.base == "base64" else ()
        case "xxd" if "-r" in options:
            return tuple(filter(None, map(decode_hex, texts)))
        case "rev":
            return tuple("\n".join(line[::-1] for line in text.strip().split("\n")) for text in texts)
        case "tr" if "n-za-m" in options.lower():
            return tuple(map(decode_rot13, texts))
        case "gunzip" | "zcat":
            return ()
        case "gzip" | "bzip2" | "xz" | "zstd" if _DECODING.search(options):
            return ()
        case _:
            return None


def _keep_archive(call: ShellCall, taints: Taints) -> None:
    """Give an archive the taints of its content."""
    if call.base in _ARCHIVERS and taints:
        for argument in call.arguments:
            target = Value(tuple(text.removeprefix("of=") for text in argument.texts))
            if not any(text.startswith("-") for text in target.texts):
                call.state.files.update(
                    {text: merge_taints((call.state.files.get(text, NOTHING), taints)) for text in target.texts}
                )


def _sed(call: ShellCall) -> Value:
    places = operands(call.arguments)
    if places and any(is_option(a, ("-i", "-i.bak", "--in-place", "-ri", "-Ei")) for a in call.arguments):
        call.state.write(places[-1], Value(), call.line, "sed -i")
        return Value()
    return _filter(call)


def _echo(call: ShellCall) -> Value:
    words = [argument for argument in call.arguments if not is_option(argument, ("-e", "-n", "-ne", "-en", "-E", "--"))]
    pieces: list[tuple[str, ...]] = []
    for word in words:
        pieces += [(" ",), word.texts] if pieces else [word.texts]
    texts = join_texts(pieces) if pieces else ("",)
    taints = merge_taints(word.taints for word in words)
    escaped = any(is_option(argument, ("-e", "-ne", "-en")) for argument in call.arguments)
    return _unescaped(call, texts, taints) if escaped else Value(texts, taints)


def _printf(call: ShellCall) -> Value:
    words = call.arguments[2:] if is_option(call.argument(0), ("-v",)) else call.arguments
    taints = merge_taints(word.taints for word in words)
    pieces = words[0].texts if words else ()
    if len(words) > 1:
        pieces = tuple(_formatted(form, [w.texts[0] if w.texts else HOLE for w in words[1:]]) for form in pieces)
    value = _unescaped(call, pieces, taints)
    if len(words) != len(call.arguments):
        for name in call.argument(1).texts:
            call.state.variables[name] = value
        return Value()
    return value


def _formatted(form: str, arguments: list[str]) -> str:
    if len(form) > 2000:
        return HOLE
    following = iter(arguments)
    text = re.sub(r"%[-0-9.]*[sbdq]", lambda _: next(following, ""), form)
    return text + "".join(following)


def _unescaped(call: ShellCall, texts: tuple[str, ...], taints: Taints) -> Value:
    decoded = tuple(map(decode_escapes, texts))
    hidden = any(re.search(r"(?:\\x?[0-9a-fA-F]{2,3}){3}", text) for text in texts)
    if hidden:
        taints |= {Taint(call.line, TaintOrigin.DECODED, f"escaped letters of {call.base}")}
    return Value(decoded, taints)


TEXT_COMMANDS: dict[str, Callable[[ShellCall], Value]] = {
    **dict.fromkeys(_FILTERS, _filter),
    "sed": _sed,
    "echo": _echo,
    "print": _echo,
    "printf": _printf,
}
