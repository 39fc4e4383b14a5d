"""HTML pages."""

import re
from html.parser import HTMLParser
from itertools import pairwise

from tests.support.registry import Registry

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


class Page(HTMLParser):
    """A parsed page: elements, links and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open += [tag] if tag == "label" else []
        self.tags.append((tag, {"label": self.open[-1], **dict(attrs)} if self.open else dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.open = self.open[:-1] if tag == "label" else self.open

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        """Return the visible text in one line."""
        return " ".join(" ".join(self.words).split())

    def links(self) -> list[str]:
        """Return the links."""
        return [attributes["href"] or "" for tag, attributes in self.tags if tag == "a" and "href" in attributes]

    def headings(self) -> list[int]:
        """Return the heading levels in order."""
        return [int(tag[1]) for tag, _ in self.tags if tag in HEADINGS]


async def open_page(registry: Registry, path: str, status: int = 200) -> Page:
    """Return a page after checking what must hold on every page."""
    answer = await registry.client.get(path, headers=BROWSER)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = Page(answer.text)
    check_harmless(page)
    check_readable(page)
    return page


def check_harmless(page: Page) -> None:
    """Check that nothing in a page runs, loads external content, or links to anything but the web."""
    allowed = {
        "html", "head", "meta", "title", "link", "script", "noscript", "body", "a", "header", "img", "nav", "form", "input", "label", "select", "option", "textarea", "details", "summary", "button", "main", "footer",
        "section", "article", "div", "span", "p", "ul", "ol", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr",
        "th", "td", "pre", "code", "b", "strong", "em", "time", "br", "hr", "blockquote", *HEADINGS,
    }  # fmt: skip
    for tag, attributes in page.tags:
        assert tag in allowed, tag
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcdoc")], tag
        if tag in ("img", "link", "script"):
            loaded = attributes.get("src") or attributes.get("href") or ""
            assert loaded.startswith(("/static/", "/badge/")) or loaded == "/feed.xml"
        if tag == "meta":
            assert attributes.get("http-equiv") in (None, "refresh")
    for link in page.links():
        assert re.match(r"https?://|/|#main$", link), link
        assert not link.startswith("//"), link


def check_readable(page: Page) -> None:
    """Check for one title, ordered headings, labelled fields and table headers."""
    levels = page.headings()
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels)), levels
    for tag, attributes in page.tags:
        if tag in ("input", "select") and attributes.get("type") != "hidden":
            assert "aria-label" in attributes or "label" in attributes, attributes
        if tag == "img":
            assert "alt" in attributes
        if tag == "th":
            assert attributes["scope"] == "col"
