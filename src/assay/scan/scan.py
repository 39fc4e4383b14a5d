"""Scan a source: every rule over every file that ships, to one report."""

from collections.abc import Iterator

from assay.model.finding import Finding, Report, Severity
from assay.model.source import Source
from assay.scan.checks.capabilities import capabilities_of
from assay.scan.checks.hidden import examine_hidden
from assay.scan.checks.purpose import Purpose
from assay.scan.checks.structure import examine_structure
from assay.scan.checks.unexamined import unexamined
from assay.scan.decode.derive import MAX_DEPTH, derived_texts
from assay.scan.decode.disguises import ANYWHERE, DISGUISES
from assay.scan.flow.program import Program, linked_programs
from assay.scan.flow.script import scripts_of
from assay.scan.flow.trace import SeenIn, may_hold, trace
from assay.scan.flow.trace_between import trace_between
from assay.scan.match.confidence import MAX_FINDINGS_PER_RULE_AND_FILE, Seen, examine, examine_comments
from assay.scan.match.matcher import TooManyMatches
from assay.scan.rule import Rule
from assay.scan.ruleset import Ruleset
from assay.scan.text.files import FileKind, kind_of, text_of
from assay.scan.text.fold import Folder
from assay.scan.text.text import Text

# The code's part of what a report depends on; to be raised when equal rules would report something else.
ENGINE = "assay-static/7"
_GRAVE = frozenset({Severity.CRITICAL, Severity.HIGH})
_FOLDER = Folder()


def scan_source(source: Source, ruleset: Ruleset) -> Report:
    """Look at all files of a source. Equal files and rules give an equal report; the caller measures the time."""
    texts = [_read(path, content) for path, content in sorted(source.files.items())]
    findings = list(examine_structure(source, texts, ruleset))
    seen: list[Seen] = []
    for text in texts:
        findings += _search(text, ruleset, seen)
        findings += examine_hidden(text, source.files[text.path], ruleset)
    purpose = _purpose(texts)
    findings += examine_comments([each.text for each in seen], ruleset.comment_rules, purpose)
    findings += _examined(seen, ruleset, purpose)
    findings += _traced(texts, seen, ruleset, purpose, findings)
    return Report(
        engine=ENGINE,
        ruleset=ruleset.version,
        digest=source.digest,
        findings=tuple(_bounded(findings)),
        has_code=any(text.kind is FileKind.SCRIPT for text in texts),
        duration_ms=0.0,
        capabilities=capabilities_of(source.files),
    )


def _bounded(findings: list[Finding]) -> Iterator[Finding]:
    """At most ten findings of a rule in a file: the surest, so that decoys cannot crowd out the real thing."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule_id, finding.file), []).append(finding)
    for group in groups.values():
        surest = sorted(group, key=lambda finding: (-finding.confidence, finding.line))[:MAX_FINDINGS_PER_RULE_AND_FILE]
        yield from sorted(surest, key=lambda finding: finding.line)


def _read(path: str, content: bytes) -> Text:
    kind = kind_of(path, content)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = text_of(content).encode()
    content = content.removeprefix(b"\xef\xbb\xbf")
    return Text(path, kind, _FOLDER.fold(content), content)


def _purpose(texts: list[Text]) -> Purpose:
    skill_md = next((text.data for text in texts if text.path == "SKILL.md"), b"")
    return Purpose(skill_md, sum(len(text.data) for text in texts))


def _search(text: Text, ruleset: Ruleset, seen: list[Seen], depth: int = 0) -> Iterator[Finding]:
    """Search a text and all that is hidden in it; what could not be searched is a finding."""
    try:
        found = ruleset.matcher.search(text.data)
    except TooManyMatches:
        yield unexamined(text.path, "it holds more matches than are looked at")
        return
    count = len(ruleset.pattern_texts)
    disguises = {number - count: found.ends(number) for number in found.candidates if number >= count}
    for number in disguises:
        if DISGUISES[number].in_place:
            disguises[number] = [match.end() for match in found.matches(count + number)]
    if len(disguises) < len(found.candidates) or b"<!--" in text.data:
        seen.append(Seen(text, found, ruleset.numbers))
    for number in range(len(ANYWHERE), len(DISGUISES)):
        if DISGUISES[number].shows_in(text.path, text.data):
            disguises[number] = []
    if not disguises:
        return
    if depth == MAX_DEPTH:
        yield unexamined(text.path, f"text is hidden in it more than {MAX_DEPTH} layers deep")
        return
    for hidden in derived_texts(text, disguises):
        yield from _search(hidden, ruleset, seen, depth + 1)


def _traced(
    texts: list[Text], seen: list[Seen], ruleset: Ruleset, purpose: Purpose, known: list[Finding]
) -> Iterator[Finding]:
    """What flows where, but for the lines of which a pattern has already said the worst."""
    told = {(finding.file, finding.line) for finding in known if finding.severity in _GRAVE}
    seen_in = _by_text(seen)
    programs = _programs(texts, seen, seen_in, ruleset)
    traced = [finding for program in programs for finding in trace(program, seen_in, ruleset, purpose)]
    traced += trace_between(programs, seen_in, ruleset, purpose)
    # What could not be read is told once, whoever wanted to read it.
    yield from (finding for finding in dict.fromkeys(traced) if (finding.file, finding.line) not in told)


def _programs(texts: list[Text], seen: list[Seen], seen_in: SeenIn, ruleset: Ruleset) -> list[Program]:
    """The programs in which a flow may begin or end; if that may be in two texts, with all that they import."""
    hinted: set[int] = set()
    for pair in ruleset.traced:
        begin, end = ({text for text, parts in seen_in.items() if may_hold(parts, patterns)} for patterns in pair)
        if begin and end:
            hinted |= begin | end
    if not hinted:
        return []
    known = {id(text): text for each in seen for text in (each.text.whole or each.text,) if id(text) in hinted}
    # Also those in which there is nothing to see but that they import others.
    known |= {id(text): text for text in texts if text.kind is FileKind.SCRIPT or text.is_prose}
    return linked_programs([script for text in known.values() for script in scripts_of(text)])


def _by_text(seen: list[Seen]) -> dict[int, list[Seen]]:
    """What was seen in each text: in itself, and in lines of it that were put together."""
    parts: dict[int, list[Seen]] = {}
    for each in seen:
        parts.setdefault(id(each.text.whole or each.text), []).append(each)
    return parts


def _examined(seen: list[Seen], ruleset: Ruleset, purpose: Purpose) -> Iterator[Finding]:
    candidates: dict[str, tuple[Rule, list[Seen]]] = {}
    for each in seen:
        for rule in {rule.id: rule for number in each.found.candidates for rule in ruleset.rules_of(number)}.values():
            candidates.setdefault(rule.id, (rule, []))[1].append(each)
    for _, (rule, texts) in sorted(candidates.items()):
        yield from examine(rule, texts, seen, purpose)
