"""Front matter of a SKILL.md: tolerant, safe parsing, and the checks that it fails."""

import re
from dataclasses import dataclass

import yaml

from assay.model.skill import Description, slug_of
from assay.scan.rule import Check
from assay.scan.text.files import text_of

MAX_FRONT_MATTER_BYTES = 16 * 1024
MAX_DEPTH = 16
MAX_DESCRIPTION = 1024
MOST_LABELS, LONGEST_LABEL = 20, 40
_LABELS = ("tags", "labels", "keywords", "topics")
_NAME = re.compile(r"[a-z0-9-]{1,64}")
_BLOCK = re.compile(r"\A\s{0,8}---[ \t]*\r?\n(.*?)^---[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = "tag:yaml.org,2002:null"
_UNKNOWN = Description(name=None, description="", version=None, license=None, author=None)


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that a skill fails, with the line and the message of the finding."""

    check: Check
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The description, the body below it, and the failed checks."""

    description: Description
    body: str
    problems: tuple[FailedCheck, ...]


def describe(skill_md: bytes) -> Description:
    """Return the description of a skill, as far as it can be parsed."""
    return read_front_matter(skill_md).description


def read_front_matter(skill_md: bytes) -> FrontMatter:
    """Split a SKILL.md into front matter and body. Never raises."""
    text = text_of(skill_md).removeprefix("\ufeff")
    block = _BLOCK.match(text)
    if block is None:
        return _unreadable(text, "There is no front matter between two lines of `---` at the top of SKILL.md")
    body = text[block.end() :]
    if len(block[1].encode()) > MAX_FRONT_MATTER_BYTES:
        return _unreadable(body, f"The front matter is larger than {MAX_FRONT_MATTER_BYTES // 1024} KB")
    try:
        fields = _fields(block[1])
    except (yaml.YAMLError, _Rejected) as error:
        return _unreadable(body, f"The front matter cannot be read: {_first_line(error)}")
    return FrontMatter(_description(fields), body, tuple(_problems(fields)))


class _Rejected(Exception):
    """Valid YAML that no honest front matter needs."""


def _fields(block: str) -> dict[str, str]:
    """Return the scalars as written, so that version 1.10 stays 1.10. Fields under `metadata` fill in missing ones."""
    _reject_bombs(block)
    root = yaml.compose(block, Loader=_SafeLoader)
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise _Rejected("it is not a mapping of keys to values")
    fields = _scalars(root)
    for key, value in root.value:
        if key.value == "metadata" and isinstance(value, yaml.MappingNode):
            fields = _scalars(value) | fields
    return fields


def _reject_bombs(block: str) -> None:
    """Check the flat event stream before composing: composing recurses, and one alias can expand to a million nodes."""
    depth = 0
    for event in yaml.parse(block, Loader=_SafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _Rejected("anchors and aliases are not allowed")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise _Rejected(f"it nests deeper than {MAX_DEPTH} levels")


def _scalars(mapping: yaml.MappingNode) -> dict[str, str]:
    """Return the values by key. A list of labels is joined with commas."""
    found = {}
    for key, value in mapping.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if isinstance(value, yaml.ScalarNode) and value.tag != _NULL:
            found[key.value] = value.value.strip()
        elif isinstance(value, yaml.SequenceNode) and key.value in _LABELS:
            found[key.value] = ",".join(each.value for each in value.value if isinstance(each, yaml.ScalarNode))
    return found


def _labels(fields: dict[str, str]) -> tuple[str, ...]:
    listed = ",".join(fields[key] for key in _LABELS if key in fields)
    labels = dict.fromkeys(slug_of(label)[:LONGEST_LABEL] for label in listed.split(","))
    return tuple(label for label in labels if label)[:MOST_LABELS]


def _description(fields: dict[str, str]) -> Description:
    return Description(
        name=fields.get("name") or None,
        description=fields.get("description", ""),
        version=fields.get("version") or None,
        license=fields.get("license") or None,
        author=fields.get("author") or None,
        category=fields.get("category") or None,
        labels=_labels(fields),
    )


def _problems(fields: dict[str, str]) -> list[FailedCheck]:
    problems = []
    name, description = fields.get("name", ""), fields.get("description", "")
    if not name:
        problems.append(FailedCheck(Check.NAME, 1, "The front matter has no name"))
    elif not _NAME.fullmatch(name):
        problems.append(FailedCheck(Check.NAME, 1, "The name is not 1 to 64 of a–z, 0–9 and hyphen"))
    if not description:
        problems.append(FailedCheck(Check.DESCRIPTION, 1, "The front matter has no description"))
    elif len(description) > MAX_DESCRIPTION:
        problems.append(
            FailedCheck(Check.DESCRIPTION, 1, f"The description is longer than {MAX_DESCRIPTION} characters")
        )
    return problems


def _unreadable(body: str, message: str) -> FrontMatter:
    return FrontMatter(_UNKNOWN, body, (FailedCheck(Check.FRONT_MATTER, 1, message),))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:160]
