"""The links of a Markdown text: what each shows, where it leads, and whether these are two different places."""

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
# A name with an ending, below folders or not: what else stands in brackets is a blank to be filled in.
_FILE = re.compile(r"(?:[\w@.+ -]+/)*[\w@+ -][\w@.+ -]*\.[a-z][a-z0-9]{0,7}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Link:
    """One link, and where in the text it begins."""

    offset: int
    shown: str
    target: str

    @property
    def path(self) -> str | None:
        """The file that it names from the folder of its text on, or nothing if it names none."""
        bare = unquote(self.target.partition("#")[0].partition("?")[0])
        if _SCHEME.match(bare) or bare.startswith(("/", "~", "#")):
            return None
        path = normpath(bare) if bare else ""
        return path if _FILE.fullmatch(path) or path.startswith("../") else None

    @property
    def is_deceptive(self) -> bool:
        """Whether it shows the address of one host and leads to another."""
        shown = _SHOWN_ADDRESS.search(self.shown)
        if shown is None or not _SCHEME.match(self.target):
            return False
        promised, real = _host(shown[0]), _host(self.target)
        return bool(promised and real) and _site(promised) != _site(real)


def links_within(text: Text) -> Iterator[Link]:
    """Links to other files of the skill, or so it seems."""
    return _seen(text, ((at, shown, target) for at, shown, target in _links(text.data) if not _ADDRESS.match(target)))


def links_with_address(text: Text) -> Iterator[Link]:
    """Links away from the skill that show an address."""
    found = (*_links(text.data), *_anchors(text.data))
    return _seen(text, ((at, shown, target) for at, shown, target in found if _ADDRESS.search(shown)))


def _seen(text: Text, found: Iterable[tuple[int, bytes, bytes]]) -> Iterator[Link]:
    """Those that people see: none in code and comments, where one is shown and not followed."""
    for offset, shown, target in found:
        if _is_code(text.data, offset) or (text.is_prose and text.regions.block_at(offset)):
            continue
        yield Link(offset, _decoded(shown), _decoded(target))


def _links(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Each link, found by its middle: that is rare, and brackets are not."""
    middle = data.find(b"](")
    while middle >= 0:
        begin = data.rfind(b"[", max(0, middle - _LONGEST), middle)
        target = _TARGET.match(data, middle + 2)
        shown = data[begin + 1 : middle]
        if begin >= 0 and target and b"\n" not in shown and b"]" not in shown:
            # An image shows no words, so what is in its brackets promises nothing.
            yield begin, b"" if data[max(0, begin - 1) : begin] == b"!" else shown, target[1]
        middle = data.find(b"](", middle + 2)


def _anchors(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    if b"</a>" in data:
        yield from ((match.start(), match["shown"], match["target"]) for match in _ANCHOR.finditer(data))


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _is_code(data: bytes, offset: int) -> bool:
    """Whether this stands between backticks on its line, as far as a line is worth a look."""
    reach = max(0, offset - _REACH)
    return data.count(b"`", data.rfind(b"\n", reach, offset) + 1 or reach, offset) % 2 == 1


def _host(address: str) -> str:
    try:
        host = urlsplit(address if _SCHEME.match(address) else f"https://{address}").hostname
    except ValueError:
        return ""
    return (host or "").rstrip(".").removeprefix("www.")


def _site(host: str) -> str:
    """The part of a host's name that one owner has, near enough: its last two words."""
    return ".".join(host.split(".")[-2:])
