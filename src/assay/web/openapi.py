"""The OpenAPI document, built without a database."""

import json

from assay.web.app import build_routes


def render_openapi() -> str:
    """Return the document as JSON, sorted and indented so that diffs are readable."""
    document = build_routes().openapi_schema.to_schema()
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
