"""Tools, programs and environment variables that the front matter of a skill declares.

Parsed without YAML: every skill is checked, few have such a list, and some lists are not valid YAML.
"""

import re
from dataclasses import dataclass, field

from assay.scan.text.files import text_of

LARGEST_BYTES = 16 * 1024
_HINTS = (b"ools", b"bins", b"Bins", b"env", b"Env")
_KEY = re.compile(
    r"(?:^|[{,\s])[\"']?(?:(?P<tools>allowed[-_]?tools|tools)|(?P<programs>bins|any_?bins)"
    r"|(?P<variables>env|required[-_]?env|primary[-_]?env))[\"']?[ \t]{0,8}:",
    re.IGNORECASE | re.MULTILINE,
)
_BLOCK_ITEM = re.compile(r"\s*\n[ \t]{0,40}-[ \t]+([^\n]{1,300})")
# Up to the comma or space between two items. Parentheses belong to the item, as in Bash(git add:*).
_ITEM = re.compile(r"[^\s,()\[\]{}\"']{1,200}(?:\([^()\n]{0,200}\))?")


@dataclass(frozen=True, slots=True)
class Declared:
    tools: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)


def declared_in(skill_md: bytes) -> Declared:
    """Return the declared lists of a SKILL.md, in any of the usual spellings."""
    declared = Declared()
    block = _front_matter(skill_md)
    if any(hint in block for hint in _HINTS):
        text = text_of(block)
        for key in _KEY.finditer(text):
            getattr(declared, key.lastgroup or "").update(_items(text, key.end()))
    return declared


def _front_matter(skill_md: bytes) -> bytes:
    begin = skill_md.find(b"---", 0, 16)
    end = skill_md.find(b"\n---", begin + 3, LARGEST_BYTES) if begin >= 0 else -1
    return skill_md[begin + 3 : end] if end >= 0 else b""


def _items(text: str, begin: int) -> set[str]:
    """Return the items of a bracketed, inline or dashed list."""
    line_end = text.find("\n", begin)
    inline = text[begin : len(text) if line_end < 0 else line_end].strip()
    if inline.startswith("["):
        closing = text.find("]", begin)
        return set(_ITEM.findall(text[begin : closing if closing >= 0 else begin]))
    if inline and not inline.startswith(("{", "#", "|", ">", "&", "!")):
        return set(_ITEM.findall(inline.partition("}")[0]))
    found = set()
    while item := _BLOCK_ITEM.match(text, begin):
        found.update(_ITEM.findall(item[1]))
        begin = item.end()
    return found
