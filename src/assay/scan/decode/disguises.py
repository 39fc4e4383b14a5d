"""Disguises: ways to hide text, each with a probe that detects it and a function that reveals the text."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from assay.scan.decode.reveal import (
    STRING,
    collapse_gaps,
    from_base64,
    from_codes,
    from_entities,
    from_escapes,
    from_hex,
    from_json_string,
    from_reversed,
    from_rot13,
    from_shell_string,
    from_unicode_escapes,
    join_adjacent_strings,
    join_concatenated,
    join_letters,
    join_path_pieces,
    strip_marks,
)
from assay.scan.pattern import Pattern

_LINES = re.compile(rb"[^\n\x0b]*")


@dataclass(frozen=True, slots=True)
class Disguise:
    """A way to hide text. The name appears in excerpts of findings."""

    name: str
    probe: Pattern
    piece: re.Pattern[bytes]
    reveal: Callable[[bytes], bytes]
    # True if whole lines are changed, false if pieces within lines are decoded.
    in_place: bool = False
    # True if a decoded piece keeps its lines; otherwise all of them map to the first line of the piece.
    keeps_lines: bool = False
    # File name suffixes where this is a disguise; in other files it is a normal way to write.
    only_in: tuple[str, ...] = ()

    def shows_in(self, path: str, data: bytes) -> bool:
        """Return true if this disguise, which is limited to some kinds of files, occurs in the file."""
        return path.lower().endswith(self.only_in) and self.probe.regex.search(data) is not None


def _regex(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), re.IGNORECASE | re.MULTILINE)


DISGUISES = (
    Disguise(
        "base64",
        Pattern(
            r"[a-z0-9+/]{40}|[a-z0-9+/]{18}={1,2}[^=a-z0-9]|(?:base64|b64\w{0,10}|atob)\b[^\n]{0,60}[a-z0-9+/_-]{16}",
            is_probe=True,
        ),
        # Encoders wrap lines.
        _regex(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}+(?:\n[A-Za-z0-9+/_-]{4,}+(?==|$))*+={0,2}"),
        from_base64,
    ),
    Disguise(
        "hex",
        Pattern(
            r"[0-9a-f]{16}|(?:0x[0-9a-f]{2}[, ]\s?0x[0-9a-f]{2}[, ]\s?0x[0-9a-f]{2})"
            r"|[0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2}",
            is_probe=True,
        ),
        _regex(r"(?<![0-9a-z])(?:[0-9a-f]{2}[ ]?){8,}|(?:0x[0-9a-f]{2}[,\s]{1,3}){4,}(?:0x[0-9a-f]{2})?"),
        from_hex,
    ),
    Disguise(
        "escaped",
        Pattern(r"\\x[0-9a-f]{2}\\x[0-9a-f]{2}\\x[0-9a-f]{2}", is_probe=True),
        _regex(r"(?:\\x[0-9a-f]{2}[\w ./:-]?){3,}"),
        from_escapes,
    ),
    Disguise(
        "escaped",
        Pattern(r"\\u[{0-9a-f]{4,5}\}?\\u[{0-9a-f]{4,5}\}?\\u", is_probe=True),
        _regex(r"(?:\\u\{?[0-9a-f]{2,6}\}?){3,}"),
        from_unicode_escapes,
    ),
    Disguise(
        "octal",
        Pattern(r"\\[0-7]{3}\\[0-7]{3}\\[0-7]{3}\\[0-7]{3}", is_probe=True),
        _regex(r"(?:\\[0-7]{3}){4,}"),
        from_escapes,
    ),
    Disguise(
        "URL-encoded",
        Pattern(r"%[0-9a-f]{2}[\w.:/-]{0,6}%[0-9a-f]{2}[\w.:/-]{0,6}%[0-9a-f]{2}", is_probe=True),
        _regex(r"(?<![\w.:/~+%-])[\w.:/~+-]*+(?:%[0-9a-f]{2}[\w.:/~+-]*+){3,}+"),
        unquote_to_bytes,
    ),
    Disguise(
        "HTML entities",
        Pattern(r"&#x?[0-9a-f]{2,6};&#x?[0-9a-f]{2,6};"),
        _LINES,
        from_entities,
        in_place=True,
    ),
    Disguise(
        "character codes",
        Pattern(
            r"\d{2,3}\s?,\s?\d{2,3}\s?,\s?\d{2,3}\s?,\s?\d{2,3}\s?,\s?\d{2,3}\s?,|chr\(\d{2,3}\)\s?[+.&]\s?chr\(\d{2,3}\)",
            is_probe=True,
        ),
        _regex(r"(?:\d{2,3}\s?,\s?){5,}\d{2,3}|(?:chr\(\d{2,3}\)\s?[+.&]?\s?){4,}"),
        from_codes,
    ),
    Disguise(
        "rot13",
        Pattern(r"rot_?-?13|a-zA-Z['\"]? ['\"]?n-za-m|tr ['\"]?a-z", is_probe=True),
        _regex(r"^.{6,}$"),
        from_rot13,
    ),
    Disguise(
        "reversed",
        # Not `\s`: Hyperscan misses `\|\s{1,16}rev\b` if more than a few bytes precede it.
        Pattern(r"\[::-1\]|\|[ \t]{0,8}rev\b|\brev[ \t]{0,8}<<|\.reverse\(\)|strrev\(", is_probe=True),
        _regex(r"^.{6,}$"),
        from_reversed,
    ),
    Disguise(
        "glued together",
        Pattern(
            r"[a-z_/.~-][\"'`]\s?(?:\+|\.\.)\s?[\"'`][a-z_/.~-]|\w(?:\"\"|'')[\w/.-]|[a-z]\\[a-z]{3}|\b[a-z]\\[a-z]\s|\w[\"']\w{1,12}[\"']\w"
        ),
        _LINES,
        join_concatenated,
        in_place=True,
    ),
    Disguise(
        "a path in pieces",
        Pattern(
            r"[\"']\.(?:ssh|aws|kube|docker|config|gnupg|azure|claude|cursor|codex|gemini|terraform\.d|local|mozilla|electrum"
            r"|ethereum|bitcoin)[\"']\s?[,/]\s?[\"'][\w.-]{2,40}[\"']"
        ),
        _LINES,
        join_path_pieces,
        in_place=True,
    ),
    Disguise(
        "broken up by marks",
        Pattern(r"[a-z](?:\*{1,3}|__|~~|</?[bius]>|<wbr>)[a-z]|[a-z]<!--[^\n]{0,40}-->[a-z]"),
        _LINES,
        strip_marks,
        in_place=True,
    ),
    Disguise(
        "letter by letter",
        Pattern(r"\b[a-z][ .\-_*][a-z][ .\-_*][a-z][ .\-_*][a-z]\b"),
        _LINES,
        join_letters,
        in_place=True,
    ),
    Disguise(
        "wide gaps",
        Pattern(r"[a-z,.][ \t]{3,16}[a-z]{1,16}[ \t]{3,16}[a-z]{1,16}[ \t]{3,16}[a-z]"),
        _LINES,
        collapse_gaps,
        in_place=True,
    ),
    Disguise(
        "a string",
        Pattern(r"\\n[^\n\"]|\\\"[^\n\"]{1,60}\\\"", is_probe=True),
        # The end of a line also ends a string, so that no quotation mark is visited twice.
        re.compile(rb'"((?:[^"\\\n]|\\.)*+)(?:"|\\?$)', re.MULTILINE),
        from_json_string,
        only_in=(".json", ".jsonl", ".ndjson", ".ipynb", ".jsonc", ".json5"),
    ),
    Disguise(
        "a string on several lines",
        # The space between two words shows that this is prose.
        Pattern(r"[\w,.:;!?] [\"']\s?\+?\s?\n\s{0,16}\+?\s?[fr]?[\"'][\w~/.<(]", is_probe=True),
        re.compile(STRING.pattern + rb"(?:[ \t]*+\+?[ \t]*+\n[ \t]*+\+?[ \t]*+[fr]?" + STRING.pattern + rb")++"),
        join_adjacent_strings,
        only_in=(
            ".py",
            ".js",
            ".mjs",
            ".cjs",
            ".ts",
            ".mts",
            ".tsx",
            ".jsx",
            ".java",
            ".kt",
            ".cs",
            ".go",
            ".swift",
            ".dart",
        ),
    ),
    Disguise(
        "given to a shell",
        Pattern(
            r"\bsystem[ (]|\b(?:shell_exec|passthru|popen|proc_open)\(|%x[({\[]|\bqx[{(/]|\bexec\.Command\("
            r"|\bCommand::new\(|\bProcess\.Start\b|\bProcessBuilder\b|\bgetRuntime\(|\bos\.execute\(|\bOpen3\."
            r"|\b(?:ba)?sh[\"']?,? [\"']?-c\b",
            is_probe=True,
        ),
        re.compile(
            rb"<<[-~<]?[ ]?([\"']?)(\w{2,20})\1[^\n]{0,20}\n(?:(?![ \t]*\2\b)[^\n]*\n){1,200}+"
            rb"|@([\"'])\n(?:(?!\3@)[^\n]*\n){1,200}+"
            # Includes short strings, so that the end of one is not taken for the start of the next.
            rb"|`[^`]*+`|\"(?:[^\"\\\n]|\\.)*+(?:\"|\\?$)|'[^'\n]*+'",
            re.MULTILINE,
        ),
        from_shell_string,
        keeps_lines=True,
        only_in=(
            ".rb",
            ".pl",
            ".php",
            ".go",
            ".ps1",
            ".psm1",
            ".lua",
            ".rs",
            ".java",
            ".kt",
            ".swift",
            ".cs",
            ".groovy",
        ),
    ),
)
# Disguises that can occur in any file. Their probes are searched for together with all patterns.
ANYWHERE = tuple(disguise for disguise in DISGUISES if not disguise.only_in)
