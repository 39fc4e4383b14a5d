"""SKILL.md as HTML. The text is hostile: raw HTML is escaped, and the result is sanitised again."""

from functools import lru_cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markupsafe import Markup

from assay.web.http.templates import visible

TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
LONGEST = 100_000
CUT = Markup("<p><em>The text was cut here; download the file to read the rest.</em></p>")


@lru_cache(maxsize=32)
def render_markdown(text: str) -> Markup:
    """Return safe HTML without images, scripts or styles. Links lead only to http(s) and are marked `nofollow`."""
    clean = nh3.clean(
        _renderer.render(visible(text[:LONGEST])),
        tags=TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https"},
        url_relative="deny",
        link_rel="nofollow noopener ugc",
    )
    return Markup(clean) + (CUT if len(text) > LONGEST else "")  # noqa: S704 - cleaned above


def _lower_headings(state: StateCore) -> None:
    """Start headings at the third level, below those of the page, and skip no level."""
    level = 2
    for token in state.tokens:
        if token.type == "heading_open":
            level = min(6, int(token.tag[1]) + 2, level + 1)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{level}"


def _build_renderer() -> MarkdownIt:
    renderer = MarkdownIt("commonmark", {"html": False, "maxNesting": 30}).enable("table").disable("image")
    renderer.core.ruler.push("lower_headings", _lower_headings)
    return renderer


_renderer = _build_renderer()
