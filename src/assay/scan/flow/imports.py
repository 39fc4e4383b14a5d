"""Imports between the scripts of a skill."""

import re
import sys
from collections.abc import Iterable, Iterator
from posixpath import dirname, join, normpath

from assay.scan.flow.javascript.names import module_name
from assay.scan.flow.script import Script
from assay.scan.flow.taint import Language

_PYTHON = re.compile(
    r"(?:^|[;:])[ \t]*+from[ \t]++(?P<package>[\w.]{1,200})[ \t]++import\b[ \t]*+"
    r"(?:\((?P<listed>[^)]{0,2000})|(?P<members>[^\n(#;]{0,400}))"
    r"|(?:^|[;:])[ \t]*+import[ \t]++(?P<modules>[\w., \t]{1,400})"
    r"|\b(?:import_module|__import__)\([ \t]*+[\"'](?P<dynamic>[\w.]{1,200})[\"']",
    re.MULTILINE,
)
_JAVASCRIPT = re.compile(
    r"(?:\brequire[ \t]*+\(|\bfrom|\bimport[ \t]*+\(?)[ \t]*+[\"'`](\.{1,2}/[^\"'`\n]{1,200})[\"'`]"
)
_SHELL = re.compile(
    r"(?:^|[;&|{]|\bthen|\bdo)[ \t]*+(?:source|\.)[ \t]++[\"']?(?:[^\n;&|]{0,200}/)?([\w.-]{1,80})", re.MULTILINE
)
_JAVASCRIPT_FILES = ("", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx", "/index.js", "/index.ts")
# TypeScript is imported by the name of the compiled file.
_COMPILED = re.compile(r"\.([mc]?)jsx?$")
# Maximum number of trailing name parts by which a module is found: lib.net.send as send, net.send or lib.net.send.
_NAMES = 4


class ScriptIndex:
    """The scripts of a skill, indexed by path and module name."""

    def __init__(self, scripts: Iterable[Script]) -> None:
        self._files: dict[str, Script] = {}
        self._modules: dict[str, Script] = {}
        for script in sorted(scripts, key=lambda script: script.text.path):
            if not script.blocks and not script.text.hidden_as:
                self._files[script.text.path] = script
                for name in _names_of(script):
                    self._modules.setdefault(name, script)

    def imported_by(self, script: Script) -> Iterator[tuple[str, Script, bool]]:
        """Yield the scripts that a script imports: the imported name, the script, and whether the match is certain."""
        match script.language:
            case Language.PYTHON:
                found = ((name.strip("."), *self._python(script, name)) for name in _python_names(script.code))
            case Language.JAVASCRIPT:
                names = _JAVASCRIPT.findall(script.code)
                found = ((module_name(name), self._javascript(script, name), True) for name in names)
            case Language.SHELL:
                found = ((name, self._shell(script, name), True) for name in _SHELL.findall(script.code))
        for name, known, is_sure in found:
            if known is not None and known is not script and known.language is script.language:
                yield name, known, is_sure

    def _python(self, script: Script, name: str) -> tuple[Script | None, bool]:
        module = name.lstrip(".")
        folder = normpath(join(dirname(script.text.path), *[".."] * (len(name) - len(module) - 1)))
        path = normpath(join(folder, module.replace(".", "/")))
        beside = self._files.get(f"{path}.py") or self._files.get(f"{path}/__init__.py")
        if beside is not None or module != name or module.partition(".")[0] in sys.stdlib_module_names:
            return beside, True
        return self._modules.get(f"{Language.PYTHON}:{module}"), False

    def _javascript(self, script: Script, name: str) -> Script | None:
        path = normpath(join(dirname(script.text.path), name))
        ends = [path + end for end in _JAVASCRIPT_FILES]
        written = [_COMPILED.sub(rf".\1{end}", path) for end in ("ts", "tsx")] if _COMPILED.search(path) else []
        return next((self._files[end] for end in (*ends, *written) if end in self._files), None)

    def _shell(self, script: Script, name: str) -> Script | None:
        beside = self._files.get(normpath(join(dirname(script.text.path), name)))
        return beside or self._modules.get(f"{Language.SHELL}:{name}")


def _names_of(script: Script) -> Iterator[str]:
    """Yield the names by which a script may be imported from anywhere in the skill, via a search path."""
    if script.language is Language.SHELL:
        yield f"{script.language}:{script.text.path.rpartition('/')[2]}"
    if script.language is Language.PYTHON:
        parts = script.text.path.removesuffix(".py").removesuffix("/__init__").split("/")
        for count in range(1, min(len(parts), _NAMES) + 1) if parts[-1] else ():
            yield f"{script.language}:{'.'.join(parts[-count:])}"


def _python_names(code: str) -> Iterator[str]:
    for match in _PYTHON.finditer(code):
        if package := match["package"]:
            yield package
            for member in re.findall(r"\w+", match["listed"] or match["members"] or ""):
                yield f"{package}{'' if package.endswith('.') else '.'}{member}"
        else:
            yield from re.findall(r"[\w.]+", match["modules"] or match["dynamic"])
