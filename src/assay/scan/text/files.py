"""File kinds, detected by content first and by name second, and decoding of text files."""

import re
from enum import StrEnum

_EXECUTABLE_MAGIC = re.compile(
    rb"\x7fELF|MZ|\xfe\xed\xfa[\xce\xcf]|[\xce\xcf]\xfa\xed\xfe|\xca\xfe\xba\xbe|\x00asm|dex\n",
)
_EXECUTABLE_NAME = re.compile(r"\.(?:exe|dll|so|dylib|pyc|pyo|class|jar|msi|dmg|pkg|scr|wasm)$")
_ARCHIVE_MAGIC = re.compile(
    rb"PK\x03\x04|PK\x05\x06|\x1f\x8b|BZh|\xfd7zXZ\x00|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|\x28\xb5\x2f\xfd"
)
# ZIP files by content, but opened as documents.
_DOCUMENT_NAME = re.compile(r"\.(?:docx|xlsx|pptx|dotx|potx|xltx|odt|ods|odp|epub)$")
_MARKDOWN_NAME = re.compile(r"\.(?:md|markdown|mdx|mdc|txt|rst|adoc)$|^[^.]+$")
_SCRIPT_NAME = re.compile(
    r"\.(?:sh|bash|zsh|fish|ksh|pyw?|[mc]?jsx?|[mc]?tsx?|rb|pl|php|lua|go|rs|java|kt|swift|c|cc|cpp|h|cs|fs|r|jl"
    r"|scala|groovy|dart|exs?|ps1|psm1|bat|cmd|vbs|applescript|scpt|awk|sql|ipynb|vue|svelte|m|hta|wsf|tcl|nim|zig)$"
    r"|^(?:makefile|dockerfile|justfile|rakefile|gemfile|package\.json)$"
)
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class FileKind(StrEnum):
    MARKDOWN = "markdown"
    SCRIPT = "script"
    DATA = "data"
    EXECUTABLE = "executable"
    ARCHIVE = "archive"
    BINARY = "binary"


UNREADABLE = frozenset({FileKind.EXECUTABLE, FileKind.ARCHIVE, FileKind.BINARY})


def kind_of(path: str, content: bytes) -> FileKind:
    """Detect the kind of a file. Content takes precedence over the name, so that no extension hides a program."""
    name = path.rpartition("/")[2].lower()
    binary = _is_binary(content)
    if binary and (_EXECUTABLE_MAGIC.match(content) or _EXECUTABLE_NAME.search(name)):
        return FileKind.EXECUTABLE
    if binary and _ARCHIVE_MAGIC.match(content) and not _DOCUMENT_NAME.search(name):
        return FileKind.ARCHIVE
    if _SCRIPT_NAME.search(name) or content.startswith(b"#!"):
        return FileKind.SCRIPT
    if binary:
        return FileKind.BINARY
    return FileKind.MARKDOWN if _MARKDOWN_NAME.search(name) else FileKind.DATA


def text_of(content: bytes) -> str:
    """Decode all text in these bytes; undecodable bytes become U+FFFD."""
    if content.startswith(_UTF_16):
        return content.decode("utf-16", errors="replace")
    return content.decode("utf-8", errors="replace")


def is_text(content: bytes) -> bool:
    """Return true for UTF-8 without NUL: shells skip NUL bytes, and people cannot see them."""
    if b"\x00" in content:
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_binary(content: bytes) -> bool:
    if content.startswith(_UTF_16) or is_text(content):
        return False
    return b"\x00" in content or not _mostly_printable(content)


def _mostly_printable(content: bytes) -> bool:
    # A few letters in a legacy encoding do not make a text binary.
    sample = content[:4096]
    unprintable = sum(byte < 9 or 13 < byte < 32 or byte > 126 for byte in sample)
    return unprintable * 10 < len(sample)
