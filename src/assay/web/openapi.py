"""The description of the API as a file, made without a database."""

import json

from assay.app import App
from assay.web.app import build_app


def render_openapi() -> str:
    """The OpenAPI document: sorted and indented, so that a change of it reads well."""
    document = build_app(_no_registry).openapi_schema.to_schema()
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _no_registry() -> App:
    raise LookupError("A description has no registry behind it.")
