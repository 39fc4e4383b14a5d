"""The links of a Markdown text: what each shows, where it leads, and whether these are two different places."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import normpath
from urllib.parse import unquote, urlsplit

from assay.model.finding import Region
from assay.scan.text import Text

# An image shows no words, so what is in its brackets promises nothing.
_LINK = re.compile(rb"(!?)\[([^\[\]\n]{1,300})\]\(<?([^)\s<>]{1,500})")
_ANCHOR = re.compile(
    rb"()<a\s(?:[^>\n]{0,100}\s)?href=[\"']?(?P<target>https?://[^\s\"'>]{1,500})[^>\n]{0,100}>(?P<shown>[^<\n]{1,300})</a>",
    re.IGNORECASE,
)
_SHOWN_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s`*_<>]+", re.IGNORECASE)
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
        bare = unquote(re.split(r"[#?]", self.target, maxsplit=1)[0])
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


def links_of(text: Text, *, leading_away: bool = False) -> Iterator[Link]:
    """Links that people see: none in code and comments, where one is shown and not followed. If only those that lead
    away from the skill are wanted, texts without any cost nothing.
    """
    for pattern, sign in ((_LINK, b"](http" if leading_away else b"]("), (_ANCHOR, b"</a>")):
        if sign not in text.data:
            continue
        for match in pattern.finditer(text.data):
            is_image, shown, target = (group.decode("utf-8", errors="replace") for group in _groups(match))
            if text.region_at(match.start()) in (Region.FENCED, Region.COMMENT) or _is_code(text.data, match.start()):
                continue
            yield Link(match.start(), "" if is_image else shown, target)


def _groups(match: re.Match[bytes]) -> tuple[bytes, bytes, bytes]:
    if match.re is _ANCHOR:
        return b"", match["shown"], match["target"]
    return match[1], match[2], match[3]


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
