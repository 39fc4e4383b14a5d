"""The templates: everything in them is escaped, and nothing in them is hidden."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from assay import __version__
from assay.web.http.caller import caller_of
from assay.web.http.format import FILTERS, visible

FOLDER = Path(__file__).parent.parent / "templates"


def load_templates() -> Environment:
    """Templates that fail on a misspelt name instead of showing nothing."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        finalize=_show,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.globals["version"] = __version__
    environment.globals["caller_of"] = caller_of
    return environment


def _show(value: object) -> object:
    """Every value that a template prints passes here before it is escaped."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
