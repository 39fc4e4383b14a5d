"""The OpenAPI document as a schema for responses."""

import json
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parents[3] / "docs" / "openapi.json"
DOCUMENT: dict[str, Any] = json.loads(KEPT.read_text())
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def check(value: object, schema: dict[str, Any], where: str) -> None:
    """Check a value against the subset of JSON Schema that the document uses."""
    if "$ref" in schema:
        return check(value, DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]], where)
    if "oneOf" in schema:
        return check(value, next(one for one in schema["oneOf"] if fits(value, one)), where)
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert any(isinstance(value, TYPES[kind]) for kind in kinds), f"{where} is {value!r}, not {kinds}"
    assert value in schema.get("enum", [value]), f"{where} is {value!r}"
    if isinstance(value, list):
        for number, each in enumerate(value):
            check(each, schema["items"], f"{where}[{number}]")
    if isinstance(value, dict) and "properties" in schema:
        assert set(value) == set(schema["properties"]), where
        assert set(schema["required"]) == set(value), where
        for key, each in value.items():
            check(each, schema["properties"][key], f"{where}.{key}")
    return None


def fits(value: object, schema: dict[str, Any]) -> bool:
    """Return whether a value has the type of one of several schemas."""
    return (value is None) == (schema.get("type") == "null")
