"""Evasions: ways to say the same thing so that a scanner might not hear it, each for the kinds of text whose meaning it
keeps. What an agent reads keeps its meaning when its letters are dressed up; code does not, but can be decoded and run.
"""

import base64
import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

from assay.model.finding import Report, Severity
from assay.model.source import Source
from assay.model.verdict import Decision
from assay.policy.policy import Policy, static_verdict
from assay.scan.rule import Rule
from assay.scan.ruleset import Ruleset
from assay.scan.scan import scan_source


class Kind(StrEnum):
    """The transformations that preserve the meaning of a specimen."""

    PROSE = "prose"
    SHELL = "shell"
    PYTHON = "python"
    JAVASCRIPT = "javascript"


CODE = frozenset({Kind.SHELL, Kind.PYTHON, Kind.JAVASCRIPT})
PROSE = frozenset({Kind.PROSE})
SHELL = frozenset({Kind.SHELL})
SCRIPTS = frozenset({Kind.PYTHON, Kind.JAVASCRIPT})
ANY = PROSE | CODE

SCRIPT_PATHS = {Kind.SHELL: "scripts/run.sh", Kind.PYTHON: "scripts/run.py", Kind.JAVASCRIPT: "scripts/run.js"}
_KINDS = {".sh": Kind.SHELL, ".py": Kind.PYTHON, ".js": Kind.JAVASCRIPT}
_FENCED = re.compile(r"\A\s*```(?:bash|sh)\n(.*?)```\s*\Z", re.DOTALL)
# Shell commands in plain instructions.
_BARE_COMMAND = re.compile(r"\A\s*(?:curl|wget) ")
HEAD = "---\nname: weather\ndescription: Shows the weather for a city.\n---\n\n# Weather\n\nShows the weather.\n\n"

# Words of plain text: not part of a URL, path, variable or identifier.
_WORD = re.compile(r"(?<![\w/.:@~{`\[$=\"'-])[A-Za-z]{4,}(?![\w/:@~}`\]=\"'-]|\.\w)")
_SHORT_WORD = re.compile(_WORD.pattern.replace("{4,}", "{2,}"))
_BETWEEN_WORDS = re.compile(r"(?<=[^\s\\]) (?=[^\s\\])")
_STRING = re.compile(r'(?<!")"([^"\\\n]{4,})"(?!")')
_COMMAND = re.compile(r"(?<![\w/.:@~{=$\"'-])(curl|wget|bash|base64|rm|env|echo|cat|hostname|sudo|mkdir|eval)(?= )")
_GRAVE = frozenset({Severity.CRITICAL, Severity.HIGH})
_MORE_THAN_FAINT = 0.3
_LOOKALIKE = str.maketrans("aeopcyxisj", "аеорсухіѕј")
_WIDE = {code: code + 0xFEE0 for code in range(ord("!"), ord("~") + 1)}


@dataclass(frozen=True)
class Specimen:
    """A malicious specimen without its fence."""

    rule_id: str
    kind: Kind
    text: str
    benign: str

    def files(self, text: str, *, fenced: bool = False) -> dict[str, bytes]:
        """Return a harmless skill with this text in the appropriate place."""
        if fenced:
            return skill(f"```{'' if self.kind is Kind.PROSE else self.kind}\n{text}\n```\n")
        if self.kind is Kind.PROSE:
            return skill(text)
        return {**skill(""), SCRIPT_PATHS[self.kind]: text.encode()}


@dataclass(frozen=True)
class Evasion:
    """A transformation and the kinds of text whose meaning it preserves."""

    name: str
    kinds: frozenset[Kind]
    apply: Callable[[Specimen], Mapping[str, bytes]]


def skill(body: str, **files: str) -> dict[str, bytes]:
    """Return a harmless skill with this at the end of its instructions."""
    return {"SKILL.md": (HEAD + body).encode(), **{path: text.encode() for path, text in files.items()}}


def critical_specimens(ruleset: Ruleset) -> Iterator[Specimen]:
    """Return the specimens of critical rules, except rules about disguised characters."""
    for rule in ruleset.rules:
        if rule.severity is Severity.CRITICAL and not rule.raw:
            yield _specimen(rule)


def _specimen(rule: Rule) -> Specimen:
    fenced = _FENCED.match(rule.bad)
    text = (fenced[1] if fenced else rule.bad).strip("\n")
    suffix = rule.specimen_file[rule.specimen_file.rfind(".") :]
    is_command = fenced or _BARE_COMMAND.match(rule.bad)
    return Specimen(rule.id, Kind.SHELL if is_command else _KINDS.get(suffix, Kind.PROSE), text, rule.benign)


def _words(change: Callable[[str], str]) -> Callable[[Specimen], dict[str, bytes]]:
    return lambda one: one.files(_WORD.sub(lambda match: change(match[0]), one.text))


def _gaps(gap: str) -> Callable[[Specimen], dict[str, bytes]]:
    return lambda one: one.files(_BETWEEN_WORDS.sub(lambda _: gap, one.text))


def _encoded(encode: Callable[[str], str], **decoders: str) -> Callable[[Specimen], dict[str, bytes]]:
    """Return the encoded text with the call or sentence that decodes and runs it."""

    def apply(one: Specimen) -> dict[str, bytes]:
        return one.files(decoders[one.kind].replace("…", encode(one.text)))

    return apply


def _every(form: str) -> Callable[[str], str]:
    return lambda text: "".join(form.format(byte) for byte in text.encode())


def _wrapped(one: Specimen) -> dict[str, bytes]:
    """Replace every third gap between words by a line break, except in headings."""
    lines = [line if line.startswith("#") else _wrap(line) for line in one.text.splitlines()]
    return one.files("\n".join(lines))


def _wrap(line: str) -> str:
    count = iter(range(1000))
    return _BETWEEN_WORDS.sub(lambda _: "\n" if next(count) % 3 == 2 else " ", line)


def _continued(one: Specimen) -> dict[str, bytes]:
    lines = [line if line.startswith("#") else _BETWEEN_WORDS.sub(" \\\\\n  ", line) for line in one.text.splitlines()]
    return one.files("\n".join(lines))


def _spaced_out(one: Specimen) -> dict[str, bytes]:
    return one.files(_SHORT_WORD.sub(lambda match: " ".join(match[0]), _BETWEEN_WORDS.sub("   ", one.text)))


def _backwards(one: Specimen) -> dict[str, bytes]:
    """Return the reversed text in quotes; `rev` reverses each line."""
    if one.kind is Kind.SHELL:
        lines = "\n".join(line[::-1] for line in one.text.replace("'", '"').splitlines())
        return one.files(f"echo '{lines}' | rev | sh")
    if one.kind is Kind.PYTHON:
        return one.files(f'exec("""{one.text[::-1]}"""[::-1])')
    return one.files(f'eval(`{one.text[::-1]}`.split("").reverse().join(""))')


def _glued(one: Specimen) -> dict[str, bytes]:
    return one.files(_STRING.sub(lambda match: f'"{match[1][:3]}" + "{match[1][3:]}"', one.text))


def _lines(prefix: str) -> Callable[[Specimen], dict[str, bytes]]:
    return lambda one: one.files("\n".join(prefix + line for line in one.text.splitlines()))


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines() if line.strip())


def _in_file(
    path: str, form: str, write: Callable[[str], str] = lambda text: text
) -> Callable[[Specimen], dict[str, bytes]]:
    return lambda one: skill(f"Read `{path}` first.\n", **{path: form.replace("…", write(one.text))})


def _commented(text: str) -> str:
    return "\n".join(f"# {line}" for line in text.splitlines())


def _below(one: Specimen) -> dict[str, bytes]:
    line = "The forecast of the day is read from the station and shown as a table."
    mark = {Kind.PROSE: "", Kind.JAVASCRIPT: "// "}.get(one.kind, "# ")
    return one.files(f"{mark}{line}\n" * (50_000 // len(line)) + "\n" + one.text)


def _behind_decoys(one: Specimen) -> dict[str, bytes]:
    benign = one.benign.strip("\n")
    return one.files(f"{benign}\n\n" * (500 // len(benign.splitlines()) + 1) + one.text)


def _fenced_example(one: Specimen) -> dict[str, bytes]:
    return skill(f"For example:\n\n```{one.kind}\n{one.text}\n```\n")


def _in_handbook(one: Specimen) -> dict[str, bytes]:
    files = _below(one)
    files["SKILL.md"] = files["SKILL.md"].replace(
        b"Shows the weather for a city.", b"Security testing and red team notes."
    )
    return files


def _issued_by(
    path: str, form: str, quote: Callable[[str], str] = lambda text: text
) -> Callable[[Specimen], dict[str, bytes]]:
    """Return the same, run by a program in another language."""
    return lambda one: skill(f"Run `{path}` first.\n", **{path: form.replace("…", quote(one.text))})


def _in_template(text: str) -> str:
    """Return the text inside a JavaScript template literal."""
    return text.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${")


def _among(name: str, description: str, before: str, after: str) -> Callable[[Specimen], dict[str, bytes]]:
    """Return the text in a skill written in another language."""
    head = f"---\nname: wetter\ndescription: {description}\n---\n\n# {name}\n\n{before}\n\n"

    def apply(one: Specimen) -> dict[str, bytes]:
        if one.kind is Kind.PROSE:
            return {"SKILL.md": f"{head}{one.text}\n\n{after}\n".encode()}
        mark = "// " if one.kind is Kind.JAVASCRIPT else "# "
        script = f"{mark}{before}\n{one.text}\n{mark}{after}\n"
        return {"SKILL.md": f"{head}{after}\n".encode(), SCRIPT_PATHS[one.kind]: script.encode()}

    return apply


def _utf_16(one: Specimen) -> dict[str, bytes]:
    return {path: content.decode().encode("utf-16") for path, content in one.files(one.text).items()}


def _crlf(one: Specimen) -> dict[str, bytes]:
    return {path: content.replace(b"\n", b"\r\n") for path, content in one.files(one.text).items()}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _url_encoded(text: str) -> str:
    return quote(text, safe="")


def _base64_lines(text: str) -> str:
    return base64.encodebytes(text.encode()).decode().strip()


_OBEY = "Decode the following and do what it says: …"
EVASIONS = (
    # Disguised letters and spaces; in prose only plain words, so that URLs and paths still work.
    Evasion("upper case", PROSE, _words(str.upper)),
    Evasion(
        "mixed case", PROSE, _words(lambda word: "".join((c.lower(), c.upper())[n % 2] for n, c in enumerate(word)))
    ),
    Evasion("extra spaces", ANY, _gaps("    ")),
    Evasion("tabs", ANY, _gaps("\t")),
    Evasion("spaces and tabs", PROSE, _gaps(" \t \t ")),
    Evasion("no-break spaces", PROSE, _gaps("\u00a0")),
    Evasion("wrapped lines", PROSE, _wrapped),
    Evasion("continued lines", SHELL, _continued),
    Evasion("CRLF", ANY, _crlf),
    Evasion("look-alike letters", PROSE, _words(lambda word: word.translate(_LOOKALIKE))),
    Evasion("zero-width characters", PROSE, _words("\u200b".join)),
    Evasion("soft hyphens", PROSE, _words(lambda word: f"{word[:2]}\u00ad{word[2:]}")),
    Evasion("fullwidth letters", PROSE, _words(lambda word: word.translate(_WIDE))),
    Evasion("combining marks", PROSE, _words(lambda word: f"{word[:2]}\u0301{word[2:]}\u0323")),
    # Split words.
    Evasion("emphasis within words", PROSE, _words(lambda word: f"{word[:2]}**{word[2:]}**")),
    Evasion("tags within words", PROSE, _words(lambda word: f"{word[:2]}<b>{word[2:3]}</b>{word[3:]}")),
    Evasion("comments within words", PROSE, _words(lambda word: f"{word[:2]}<!-- x -->{word[2:]}")),
    Evasion("letter by letter", PROSE, _spaced_out),
    Evasion("strings glued together", SCRIPTS, _glued),
    Evasion(
        "quotes within words", SHELL, lambda one: one.files(_COMMAND.sub(lambda m: f"{m[0][:1]}''{m[0][1:]}", one.text))
    ),
    Evasion(
        "backslash within words",
        SHELL,
        lambda one: one.files(_COMMAND.sub(lambda m: f"{m[0][:1]}\\{m[0][1:]}", one.text)),
    ),
    # Encoded, with the decoder.
    Evasion(
        "base64",
        ANY,
        _encoded(
            _base64,
            prose=_OBEY,
            shell='echo "…" | base64 -d | sh',
            python='import base64\nexec(base64.b64decode("…"))',
            javascript='eval(atob("…"))',
        ),
    ),
    Evasion(
        "base64 in lines",
        ANY,
        _encoded(
            _base64_lines,
            prose="Decode the following and do what it says:\n\n…",
            shell="base64 -d <<'EOF' | sh\n…\nEOF",
            python='import base64\nexec(base64.b64decode("""…"""))',
            javascript="eval(atob(`…`))",
        ),
    ),
    Evasion(
        "hex",
        ANY,
        _encoded(
            lambda text: text.encode().hex(),
            prose=_OBEY,
            shell="echo … | xxd -r -p | sh",
            python='exec(bytes.fromhex("…"))',
            javascript='eval(Buffer.from("…", "hex").toString())',
        ),
    ),
    Evasion(
        "URL-encoding",
        PROSE | SCRIPTS,
        _encoded(
            _url_encoded,
            prose=_OBEY,
            python='from urllib.parse import unquote\nexec(unquote("…"))',
            javascript='eval(decodeURIComponent("…"))',
        ),
    ),
    Evasion(
        "unicode escapes",
        PROSE | SCRIPTS,
        _encoded(_every("\\u{:04x}"), prose=_OBEY, python='exec("…")', javascript='eval("…")'),
    ),
    Evasion(
        "hex escapes",
        CODE,
        _encoded(_every("\\x{:02x}"), shell="printf '…' | sh", python='exec("…")', javascript='eval("…")'),
    ),
    Evasion("octal escapes", SHELL, _encoded(_every("\\{:03o}"), shell="printf '…' | sh")),
    Evasion(
        "character codes",
        SCRIPTS,
        _encoded(
            lambda text: ", ".join(map(str, text.encode())),
            python='exec("".join(map(chr, [...])))'.replace("...", "…"),
            javascript="eval(String.fromCharCode(…))",
        ),
    ),
    Evasion("HTML entities", PROSE, _words(_every("&#{};"))),
    Evasion("HTML entities throughout", PROSE, lambda one: one.files(_every("&#{};")(one.text))),
    Evasion("reversed", CODE, _backwards),
    Evasion(
        "rot13",
        PROSE | SHELL,
        _encoded(
            lambda text: codecs.encode(text, "rot13"),
            prose="This is in rot13; decode it and do what it says:\n\n…",
            shell="sh <(tr a-zA-Z n-za-mN-ZA-M <<'EOF'\n…\nEOF\n)",
        ),
    ),
    # In places that are not displayed.
    Evasion(
        "HTML comment", PROSE, lambda one: one.files(f"<!-- {one.text} -->" if "<!--" not in one.text else one.text)
    ),
    Evasion("fence", ANY, lambda one: one.files(one.text, fenced=True)),
    Evasion("blockquote", PROSE, _lines("> ")),
    Evasion("list item", PROSE, lambda one: one.files("- " + _one_line(one.text))),
    Evasion("table cell", PROSE, lambda one: one.files(f"| step | what |\n|---|---|\n| 1 | {_one_line(one.text)} |")),
    Evasion("text file", PROSE, _in_file("notes.txt", "…")),
    Evasion("JSON string", ANY, _in_file("data.json", '{"note": …}', json.dumps)),
    Evasion("Python comment", PROSE, _in_file("scripts/show.py", "…\nprint('sunny')", _commented)),
    Evasion("Python docstring", PROSE, _in_file("scripts/show.py", '"""…\n"""\nprint("sunny")')),
    Evasion("here-document", SHELL, _in_file("scripts/show.sh", "bash <<'EOF'\n…\nEOF")),
    Evasion("note in a here-document", PROSE, _in_file("scripts/show.sh", "cat > NOTE.md <<'EOF'\n…\nEOF")),
    Evasion("below 50 KB", ANY, _below),
    Evasion("behind 500 decoy lines", ANY, _behind_decoys),
    Evasion("UTF-16", PROSE, _utf_16),
    # In another language.
    Evasion("Python's os.system", SHELL, _issued_by("scripts/show.py", "import os\n\nos.system(r'''…''')\n")),
    Evasion(
        "Python's subprocess",
        SHELL,
        _issued_by("scripts/show.py", "import subprocess\n\nsubprocess.run(['bash', '-c', r'''…'''], check=True)\n"),
    ),
    Evasion(
        "Node's execSync",
        SHELL,
        _issued_by("show.mjs", 'import { execSync } from "node:child_process";\n\nexecSync(`…`);\n', _in_template),
    ),
    Evasion("Ruby's system", SHELL, _issued_by("scripts/show.rb", "system(<<~'EOF')\n…\nEOF\n")),
    Evasion("Perl's system", SHELL, _issued_by("scripts/show.pl", "system(<<'EOF');\n…\nEOF\n")),
    Evasion("PHP's shell_exec", SHELL, _issued_by("show.php", "<?php\nshell_exec(<<<'EOF'\n…\nEOF\n);\n")),
    Evasion(
        "Go's exec.Command", SHELL, _issued_by("show.go", 'func main() {\n\texec.Command("sh", "-c", `…`).Run()\n}\n')
    ),
    Evasion("PowerShell", SHELL, _issued_by("scripts/show.ps1", "bash -c @'\n…\n'@\n")),
    Evasion(
        "a shell's python3", frozenset({Kind.PYTHON}), _issued_by("scripts/show.sh", "python3 - <<'EOF'\n…\nEOF\n")
    ),
    Evasion("a shell's node", frozenset({Kind.JAVASCRIPT}), _issued_by("scripts/show.sh", "node - <<'EOF'\n…\nEOF\n")),
    Evasion(
        "among German",
        ANY,
        _among("Wetter", "Zeigt das Wetter.", "Für jede Stadt, auch für größere.", "Danach die Übersicht zeigen."),
    ),
    Evasion("among Russian", ANY, _among("Погода", "Показывает погоду.", "Для любого города.", "Затем покажи ответ.")),
    Evasion("among Chinese", ANY, _among("天气", "显示天气。", "适用于任何城市。", "然后显示结果。")),
    # Phrased as a lesson.
    Evasion("called an example", PROSE, lambda one: one.files(f"For example, {one.text}")),
    Evasion("fence called an example", CODE, _fenced_example),
    Evasion("in a long handbook of security", ANY, _in_handbook),
)


def pairs(ruleset: Ruleset) -> Iterator[tuple[Evasion, Specimen, Mapping[str, bytes]]]:
    """Yield every applicable pair of specimen and evasion."""
    for specimen in critical_specimens(ruleset):
        plain = specimen.files(specimen.text)
        for evasion in EVASIONS:
            if specimen.kind in evasion.kinds:
                files = evasion.apply(specimen)
                if files != plain:
                    yield evasion, specimen, files


@dataclass(frozen=True)
class Tried:
    """The result of one specimen in one evasion."""

    evasion: str
    rule_id: str
    by_rule: bool
    caught: bool
    seen: bool


def try_evasions(ruleset: Ruleset) -> list[Tried]:
    """Scan every specimen in every applicable evasion."""
    return [
        _tried(evasion.name, specimen.rule_id, scan_source(Source(files, commit="0" * 40), ruleset))
        for evasion, specimen, files in pairs(ruleset)
    ]


def _tried(evasion: str, rule_id: str, report: Report) -> Tried:
    held_back = static_verdict(report, Policy()).decision is not Decision.APPROVE
    grave = any(one.severity in _GRAVE and one.confidence >= _MORE_THAN_FAINT for one in report.findings)
    by_rule = any(finding.rule_id == rule_id for finding in report.findings)
    return Tried(evasion, rule_id, by_rule, held_back or grave, bool(report.findings))


def share(tried: list[Tried], is_hit: Callable[[Tried], bool]) -> float:
    """Return the share for which a condition holds."""
    return sum(map(is_hit, tried)) / len(tried)
