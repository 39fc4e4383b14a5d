"""A skill's own words as HTML: hostile text, so raw HTML stays text and the result is cleaned once more."""

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
LONGEST = 200_000
_renderer = MarkdownIt("commonmark", {"html": False, "maxNesting": 30}).enable("table").disable("image")


def render_markdown(text: str) -> Markup:
    """Safe HTML without images, scripts or styles; links do not vouch for where they lead."""
    html = _renderer.render(text[:LONGEST])
    clean = nh3.clean(
        html, tags=TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https"}, link_rel="nofollow noopener ugc"
    )
    return Markup(clean)  # noqa: S704 - cleaned above
