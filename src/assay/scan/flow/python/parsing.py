"""Tolerant parsing of Python code: lines that do not parse are repaired or left out."""

import ast
import re
import textwrap
import threading
import warnings

from assay.scan.text.code_blocks import split_blocks

# Maximum number of faulty lines to repair; after that, each line is parsed by itself.
_REPAIRS = 6
_OPENING = re.compile(r"^(?:if|for|while|with|def|class|try|else|elif|except|finally|async)\b.*:\s*(?:#.*)?$")
_OLD_PRINT = re.compile(r"^print\s+(?![=(])(.+)$")
_SHELL_LINE = re.compile(r"^[!%](?:sh\s+|bash\s+)?(.+)$")
# Warning filters are global to the process, so threads must not change them concurrently.
_FILTERS = threading.Lock()


def parse_python(code: str) -> tuple[ast.Module, bool]:
    """Return the statements of the code, and whether all of it could be parsed."""
    body: list[ast.stmt] = []
    whole = True
    for line, block in split_blocks(code):
        module, read = _parse_block(block)
        if line > 1:
            _move_down(module, line - 1)
        body += module.body
        whole &= read
    return ast.Module(body, []), whole


def _parse_block(code: str) -> tuple[ast.Module, bool]:
    code = textwrap.dedent(code.replace("\0", " ")).lstrip("\ufeff")
    code = re.sub(r"^(>>>|\.\.\.) ", "", code, flags=re.MULTILINE)
    lines = code.split("\n")
    for _ in range(_REPAIRS):
        try:
            return _parse("\n".join(lines)), True
        except SyntaxError as error:
            if "too many" in error.msg:  # brackets nested deeper than the parser supports
                return _by_line(lines), False
            at = (error.lineno or 0) - 1
            if not 0 <= at < len(lines) or not lines[at].strip():
                break
            lines[at] = _repaired(lines[at])
        except (ValueError, RecursionError, MemoryError):
            return _by_line(lines), False
    return _by_line(lines), True


def _parse(code: str) -> ast.Module:
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def _move_down(tree: ast.Module, lines: int) -> None:
    """Shift the line numbers of a tree. `ast.walk` does not recurse, so any depth is safe."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr, ast.ExceptHandler, ast.arg, ast.keyword)):
            node.lineno += lines


def _repaired(line: str) -> str:
    """Return a replacement that parses: for a print statement, a notebook command, or otherwise `pass`."""
    indentation = line[: len(line) - len(line.lstrip())]
    text = line.strip()
    if match := _SHELL_LINE.match(text):
        return f"{indentation}__import__('os').system({match[1]!r})"
    if match := _OLD_PRINT.match(text):
        return f"{indentation}print({match[1].rstrip(',')})"
    return f"{indentation}pass" if not text.endswith(":") else f"{indentation}if 1:"


def _by_line(lines: list[str]) -> ast.Module:
    """Parse each line by itself and keep those that parse."""
    body: list[ast.stmt] = []
    for number, line in enumerate(lines):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if _OPENING.match(text):
            text = re.sub(r"^(?:else|try|finally|except\b.*):", "if 1:", re.sub(r"^elif\b", "if", text)) + " pass"
        for candidate in (text, _repaired(text)):
            try:
                parsed = _parse(candidate)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            _move_down(parsed, number)
            body += parsed.body
            break
    return ast.Module(body, [])
