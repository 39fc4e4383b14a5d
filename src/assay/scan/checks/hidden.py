"""Hidden text: invisible and look-alike characters, searched for in the original text because folding removes them."""

import re
from bisect import bisect_right
from collections.abc import Iterator

from assay.model.finding import Finding
from assay.scan.match.confidence import MAX_FINDINGS_PER_RULE_AND_FILE, finding_of
from assay.scan.ruleset import Ruleset
from assay.scan.text.excerpt import excerpt_of
from assay.scan.text.files import UNREADABLE, text_of
from assay.scan.text.text import Text

_ASCII = bytes(range(128))
# Matches the bytes that remain without ASCII: all invisible characters except those that occur in every emoji.
_INVISIBLE = re.compile(
    rb"\xc2\xad|\xcd\x8f|\xd8\x9c|\xe1[\x85\x9e\xa0]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xe3\x85\xa4"
    rb"|\xef\xb8[\x80-\x8f]{2}|\xef\xb8[\x80-\x8e]|\xef\xbb\xbf|\xef\xbe\xa0|\xf3\xa0"
)
# Letters of alphabets with look-alikes of Latin letters, next to Latin ones.
_MIXED = re.compile(rb"[A-Za-z][\xd0-\xd4][\x80-\xbf]|[\xd0-\xd4][\x80-\xbf][A-Za-z]")
_LINE_END = re.compile("\n")
_OTHER_ALPHABETS = re.compile(rb"[\xd0-\xd4]")


def hidden_text_findings(text: Text, content: bytes, ruleset: Ruleset) -> Iterator[Finding]:
    """Yield the findings of `raw` rules in a file."""
    # In binary data such characters are only noise.
    if content.isascii() or text.kind in UNREADABLE:
        return
    if not content.startswith((b"\xff\xfe", b"\xfe\xff")) and not _is_worth_a_look(content):
        return
    # A byte-order mark at the start hides nothing.
    characters = text_of(content).removeprefix("\ufeff")
    starts = [0, *(match.end() for match in _LINE_END.finditer(characters))]
    for rule in ruleset.raw_rules:
        found = {
            bisect_right(starts, match.start()): match
            for pattern in rule.raw_patterns
            for match in pattern.finditer(characters)
        }
        for line, match in sorted(found.items())[:MAX_FINDINGS_PER_RULE_AND_FILE]:
            begin = characters.rfind("\n", 0, match.start()) + 1
            end = characters.find("\n", match.start())
            shown = characters[max(begin, match.start() - 100) : len(characters) if end < 0 else end][:400]
            at = match.start() - max(begin, match.start() - 100)
            region = text.region_at(text.start_of(line))
            yield finding_of(rule, text.path, line, rule.confidence, excerpt_of(shown, at), region)


def _is_worth_a_look(content: bytes) -> bool:
    rest = content.translate(None, _ASCII)
    return bool(_INVISIBLE.search(rest) or (_OTHER_ALPHABETS.search(rest) and _MIXED.search(content)))
