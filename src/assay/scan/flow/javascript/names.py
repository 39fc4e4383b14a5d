"""Names in JavaScript: modules and members, the environment, logins, and names that are resolved indirectly."""

from assay.scan.flow.program_state import ProgramState
from assay.scan.flow.program_values import ProgramValue
from assay.scan.flow.taint import TaintOrigin, Taints

WHOLE_ENVIRONMENT = "process.env"
_GLOBALS = ("global", "globalThis", "window", "self", "this")
_LOGIN_KEYS = (
    "headers",
    "authorization",
    "auth",
    "cookie",
    "x-api-key",
    "apikey",
    "api_key",
    "env",
    "credentials",
    "token",
)
_MODULES = frozenset({"child_process", "fs", "net", "http", "https", "os", "vm", "dgram", "dns", "tls", "process"})
_MEMBERS = frozenset({"eval", "Function", "require", "exec", "execSync", "spawn", "spawnSync", "constructor", "fetch"})
_ALWAYS_TELLING = frozenset({"eval", "Function"})


def member_names(owners: tuple[str, ...], member: str) -> tuple[str, ...]:
    """Return the qualified names of a member. Globals have no prefix, and promises belong to their module."""
    names = []
    for owner in owners:
        if owner in _GLOBALS and owner != "this":
            names.append(member)
        elif member in ("promises", "default"):
            names.append(owner)
        else:
            names.append(f"{owner}.{member}")
    return tuple(name for name in names if len(name) < 120)


def module_name(text: str) -> str:
    """Normalise a module name: node:fs/promises is fs."""
    return text.removeprefix("node:").removesuffix("/promises")


def import_names(words: list[str], module: str) -> dict[str, tuple[str, str]]:
    """Return the names that an import binds, each with its module and member."""
    module = module_name(module)
    bound: dict[str, tuple[str, str]] = {}
    inside = False
    position = 0
    while position < len(words):
        word = words[position]
        renamed = words[position + 2] if position + 2 < len(words) and words[position + 1] == "as" else ""
        if word in "{}":
            inside = word == "{"
        elif word == "*" and renamed:
            bound[renamed] = (module, "*")
            position += 2
        elif word.isidentifier() and word not in ("from", "type"):
            bound[renamed or word] = (module, word if inside else "default")
            position += 2 if renamed else 0
        position += 1
    return bound


def without_login(key: str, taints: Taints) -> Taints:
    """Drop a program's own login from a header or an API key field, where it is ordinary."""
    if key.lower() not in _LOGIN_KEYS:
        return taints
    return frozenset(
        t for t in taints if t.origin is TaintOrigin.SECRET and not (key == "env" and t.text == WHOLE_ENVIRONMENT)
    )


def check_hidden_member(state: ProgramState, owners: tuple[str, ...], key: ProgramValue, line: int) -> None:
    """Report global['ev' + 'al'] and the like."""
    name = key.known_text or ""
    built = any(taint.origin in (TaintOrigin.DECODED, TaintOrigin.ASSEMBLED) for taint in key.taints)
    is_global = any(owner in _GLOBALS for owner in owners)
    if (is_global and name in _ALWAYS_TELLING) or (built and name in _MEMBERS):
        state.report_hidden_name(f"[{min(key.taints).text if key.taints else name}]", line, name)


def check_hidden_module(state: ProgramState, name: ProgramValue, line: int) -> None:
    """Report require('child_' + 'process') and the like."""
    built = any(taint.origin in (TaintOrigin.DECODED, TaintOrigin.ASSEMBLED) for taint in name.taints)
    if built and module_name(name.known_text or "") in _MODULES:
        state.report_hidden_name(min(name.taints).text, line, f"require {name.known_text}")
