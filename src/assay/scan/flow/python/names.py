"""Names that a Python program resolves indirectly: getattr, __import__, globals, builtins."""

import ast
from collections.abc import Callable

from assay.scan.flow.program_values import UNKNOWN, ProgramValue
from assay.scan.flow.python.call import PyCall
from assay.scan.flow.sensitive import name_set
from assay.scan.flow.taint import TaintOrigin

_MODULES = name_set(
    "os subprocess socket builtins ctypes pty marshal pickle base64 urllib urllib.request requests http.client shutil"
    " importlib sys commands codecs zlib"
)
_FUNCTIONS = name_set(
    "system popen exec eval compile __import__ getattr execv execve Popen check_output spawn urlopen loads b64decode"
    " open environ getenv run call post get"
)
_ALWAYS_TELLING = name_set("system popen exec eval compile __import__ execv execve Popen spawn")


def is_plain(node: ast.expr) -> bool:
    """Return true if a name is written literally in the code."""
    return isinstance(node, ast.Constant)


def _import(call: PyCall) -> ProgramValue:
    """Evaluate `__import__(name)` and `importlib.import_module(name)`."""
    name = call.argument(0, "name")
    call.state.run(
        frozenset(t for t in name.taints if t.origin in (TaintOrigin.FETCHED, TaintOrigin.RECEIVED)),
        call.line,
        call.names[0],
    )
    if name.known_text is None or not call.node.args:
        return UNKNOWN
    if not is_plain(call.node.args[0]) and _is_built(name) and name.known_text in _MODULES:
        call.state.report_hidden_name(ast.unparse(call.node)[:200], call.line, name.known_text)
    return ProgramValue(names=(name.known_text.lstrip("."),))


def _getattr(call: PyCall) -> ProgramValue:
    owner, name = call.argument(0), call.argument(1)
    if name.known_text is None or len(call.node.args) < 2:
        return ProgramValue((), owner.taints, tuple(f"{o}.…" for o in owner.names))
    names = attribute_names(owner.names, name.known_text)
    plain = is_plain(call.node.args[1])
    sensitive_owner = any(o in _MODULES or o.startswith("builtins") for o in owner.names)
    built = not plain and _is_built(name)
    if sensitive_owner and (name.known_text in _ALWAYS_TELLING or (built and name.known_text in _FUNCTIONS)):
        call.state.report_hidden_name(ast.unparse(call.node)[:200], call.line, f"{owner.names[0]}.{name.known_text}")
    return ProgramValue(names=names)


def _is_built(name: ProgramValue) -> bool:
    """Return true if a name was decoded or assembled, rather than kept in a variable."""
    return any(taint.origin in (TaintOrigin.DECODED, TaintOrigin.ASSEMBLED) for taint in name.taints)


def attribute_names(owners: tuple[str, ...], attribute: str) -> tuple[str, ...]:
    """Return the qualified names of an attribute. Builtins have no prefix."""
    names = []
    for owner in owners:
        bare = owner == "builtins" and attribute != "__dict__"
        names.append(attribute if bare else f"{owner}.{attribute}")
    return tuple(name for name in names if len(name) < 120)


def name_from_table(table: ProgramValue, key: ProgramValue) -> ProgramValue | None:
    """Evaluate `globals()['name']` and `__builtins__.__dict__['name']`."""
    tables = ("globals()", "locals()", "vars()", "builtins.__dict__", "builtins", "sys.modules")
    if key.known_text is None:
        return None
    if any(name in tables for name in table.names):
        return ProgramValue(names=(key.known_text,))
    owners = [name.removesuffix(".__dict__") for name in table.names if name.endswith(".__dict__")]
    return ProgramValue(names=tuple(f"{owner}.{key.known_text}" for owner in owners)) if owners else None


def is_hidden_entry(key: ProgramValue, node: ast.expr) -> bool:
    """Return true if a sensitive name is looked up in a table of names by a text that is not written literally."""
    return key.known_text in _FUNCTIONS | _MODULES and (
        (not is_plain(node) and _is_built(key)) or key.known_text in _ALWAYS_TELLING
    )


def _builtins_table(call: PyCall) -> ProgramValue:
    return ProgramValue(names=(f"{call.names[0]}()",))


def _vars(call: PyCall) -> ProgramValue:
    owner = call.argument(0)
    return ProgramValue(names=tuple(f"{name}.__dict__" for name in owner.names) or ("vars()",))


HIDING_FUNCTIONS: dict[str, Callable[[PyCall], ProgramValue]] = {
    **dict.fromkeys(("__import__", "importlib.import_module", "importlib.__import__", "builtins.__import__"), _import),
    **dict.fromkeys(("getattr", "builtins.getattr"), _getattr),
    **dict.fromkeys(("globals", "locals"), _builtins_table),
    "vars": _vars,
}
