"""Links of a Markdown text: the text that each shows and its target."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from posixpath import normpath
from urllib.parse import unquote, urlsplit

from assay.scan.text.text import Text

_LONGEST = 300
_TARGET = re.compile(rb"<?([^)\s<>]{1,500})")
_ANCHOR = re.compile(
    rb"<a\s(?:[^>\n]{0,100}\s)?href=[\"']?(?P<target>https?://[^\s\"'>]{1,500})[^>\n]{0,100}>(?P<shown>[^<\n]{1,300})</a>",
    re.IGNORECASE,
)
_SHOWN_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s`*_<>]+", re.IGNORECASE)
_ADDRESS = re.compile(rb"https?:|www\.", re.IGNORECASE)
_REACH = 2_000
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
# A file name with an extension, optionally below folders. Anything else in brackets is a placeholder.
_FILE = re.compile(r"(?:[\w@.+ -]+/)*[\w@+ -][\w@.+ -]*\.[a-z][a-z0-9]{0,7}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Link:
    """One link, with its offset in the text."""

    offset: int
    shown: str
    target: str

    @property
    def path(self) -> str | None:
        """The path that the link names, relative to the folder of its text; None if it names no file."""
        bare = unquote(self.target.partition("#")[0].partition("?")[0])
        if _SCHEME.match(bare) or bare.startswith(("/", "~", "#")):
            return None
        path = normpath(bare) if bare else ""
        return path if _FILE.fullmatch(path) or path.startswith("../") else None

    @property
    def is_deceptive(self) -> bool:
        """Return true if the link shows the URL of one site and leads to another."""
        shown = _SHOWN_ADDRESS.search(self.shown)
        if shown is None or not _SCHEME.match(self.target):
            return False
        promised, real = _host(shown[0]), _host(self.target)
        return bool(promised and real) and _site(promised) != _site(real)


def links_within(text: Text) -> Iterator[Link]:
    """Yield links that are not URLs, and so point to files of the skill."""
    return _seen(text, ((at, shown, target) for at, shown, target in _links(text.data) if not _ADDRESS.match(target)))


def links_with_address(text: Text) -> Iterator[Link]:
    """Yield links that show a URL."""
    found = (*_links(text.data), *_anchors(text.data))
    return _seen(text, ((at, shown, target) for at, shown, target in found if _ADDRESS.search(shown)))


def _seen(text: Text, found: Iterable[tuple[int, bytes, bytes]]) -> Iterator[Link]:
    """Yield the links that readers see: those in code and comments are excluded."""
    for offset, shown, target in found:
        if _is_code(text.data, offset) or (text.is_prose and text.regions.block_at(offset)):
            continue
        yield Link(offset, _decoded(shown), _decoded(target))


def _links(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield each link, located by its middle `](`, which is rarer than brackets."""
    middle = data.find(b"](")
    while middle >= 0:
        begin = data.rfind(b"[", max(0, middle - _LONGEST), middle)
        target = _TARGET.match(data, middle + 2)
        shown = data[begin + 1 : middle]
        if begin >= 0 and target and b"\n" not in shown and b"]" not in shown:
            # An image shows no text, so its brackets promise nothing.
            yield begin, b"" if data[max(0, begin - 1) : begin] == b"!" else shown, target[1]
        middle = data.find(b"](", middle + 2)


def _anchors(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    if b"</a>" in data:
        yield from ((match.start(), match["shown"], match["target"]) for match in _ANCHOR.finditer(data))


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _is_code(data: bytes, offset: int) -> bool:
    """Return true between backticks on a line, looking back at most `_REACH` bytes."""
    reach = max(0, offset - _REACH)
    return data.count(b"`", data.rfind(b"\n", reach, offset) + 1 or reach, offset) % 2 == 1


def _host(address: str) -> str:
    try:
        host = urlsplit(address if _SCHEME.match(address) else f"https://{address}").hostname
    except ValueError:
        return ""
    return (host or "").rstrip(".").removeprefix("www.")


def _site(host: str) -> str:
    """Return the last two labels of a host, which approximates the part that has one owner."""
    return ".".join(host.split(".")[-2:])
