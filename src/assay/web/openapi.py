"""The description of the API as a file, made without a database."""

import json

from assay.web.app import build_routes


def render_openapi() -> str:
    """The OpenAPI document: sorted and indented, so that a change of it reads well."""
    document = build_routes().openapi_schema.to_schema()
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
