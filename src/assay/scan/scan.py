"""The static scan: all rules over all files of a source, as one report."""

from collections.abc import Iterator

from assay.model.finding import Finding, Report, Severity
from assay.model.source import Source
from assay.scan.checks.capabilities import capabilities_of
from assay.scan.checks.hidden import hidden_text_findings
from assay.scan.checks.purpose import SkillPurpose
from assay.scan.checks.structure import structure_findings
from assay.scan.checks.unexamined import unexamined
from assay.scan.decode.derive import MAX_DEPTH, derived_texts
from assay.scan.decode.disguises import ANYWHERE, DISGUISES
from assay.scan.flow.program import Program, linked_programs
from assay.scan.flow.script import scripts_of
from assay.scan.flow.trace import SearchedTexts, may_match_in, trace
from assay.scan.flow.trace_between import trace_between
from assay.scan.match.confidence import MAX_FINDINGS_PER_RULE_AND_FILE, SearchedText, comment_findings, rule_findings
from assay.scan.match.engine import TooManyMatches
from assay.scan.rule import Rule
from assay.scan.ruleset import Ruleset
from assay.scan.text.files import FileKind, kind_of, text_of
from assay.scan.text.fold import TextFolder
from assay.scan.text.text import Text

# The version of the scanner's code, stored with every report. Raise it when equal rules would give another report.
ENGINE = "assay-static/7"
_SEVERE = frozenset({Severity.CRITICAL, Severity.HIGH})
_FOLDER = TextFolder()


def scan_source(source: Source, ruleset: Ruleset) -> Report:
    """Scan all files of a source. Equal files and rules give equal reports; the caller sets `duration_ms`."""
    texts = [_read(path, content) for path, content in sorted(source.files.items())]
    findings = list(structure_findings(source, texts, ruleset))
    searched: list[SearchedText] = []
    for text in texts:
        findings += _search(text, ruleset, searched)
        findings += hidden_text_findings(text, source.files[text.path], ruleset)
    purpose = _purpose(texts)
    findings += comment_findings([each.text for each in searched], ruleset.comment_rules, purpose)
    findings += _pattern_findings(searched, ruleset, purpose)
    findings += _flow_findings(texts, searched, ruleset, purpose, findings)
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
    """Yield at most ten findings per rule and file, by confidence, so that decoys cannot crowd out a real match."""
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


def _purpose(texts: list[Text]) -> SkillPurpose:
    skill_md = next((text.data for text in texts if text.path == "SKILL.md"), b"")
    return SkillPurpose(skill_md, sum(len(text.data) for text in texts))


def _search(text: Text, ruleset: Ruleset, searched: list[SearchedText], depth: int = 0) -> Iterator[Finding]:
    """Search a text and everything hidden in it, and yield a finding for each text that could not be searched."""
    try:
        result = ruleset.matcher.search(text.data)
    except TooManyMatches:
        yield unexamined(text.path, "it holds more matches than are looked at")
        return
    count = len(ruleset.pattern_texts)
    disguises = {number - count: result.ends(number) for number in result.candidates if number >= count}
    for number in disguises:
        if DISGUISES[number].in_place:
            disguises[number] = [match.end() for match in result.matches(count + number)]
    if len(disguises) < len(result.candidates) or b"<!--" in text.data:
        searched.append(SearchedText(text, result, ruleset.numbers))
    for number in range(len(ANYWHERE), len(DISGUISES)):
        if DISGUISES[number].shows_in(text.path, text.data):
            disguises[number] = []
    if not disguises:
        return
    if depth == MAX_DEPTH:
        yield unexamined(text.path, f"text is hidden in it more than {MAX_DEPTH} layers deep")
        return
    for hidden in derived_texts(text, disguises):
        yield from _search(hidden, ruleset, searched, depth + 1)


def _flow_findings(
    texts: list[Text], searched: list[SearchedText], ruleset: Ruleset, purpose: SkillPurpose, known: list[Finding]
) -> Iterator[Finding]:
    """Yield findings for harmful flows, except on lines that already have a high or critical finding."""
    reported = {(finding.file, finding.line) for finding in known if finding.severity in _SEVERE}
    by_text = _by_text(searched)
    programs = _programs(texts, searched, by_text, ruleset)
    traced = [finding for program in programs for finding in trace(program, by_text, ruleset, purpose)]
    traced += trace_between(programs, by_text, ruleset, purpose)
    # Several programs may fail to read the same script: report it once.
    yield from (finding for finding in dict.fromkeys(traced) if (finding.file, finding.line) not in reported)


def _programs(
    texts: list[Text], searched: list[SearchedText], by_text: SearchedTexts, ruleset: Ruleset
) -> list[Program]:
    """Return the programs in which a flow may start or end. If it may do so in two texts, include their imports."""
    hinted: set[int] = set()
    for pair in ruleset.traced:
        begin, end = ({text for text, parts in by_text.items() if may_match_in(parts, patterns)} for patterns in pair)
        if begin and end:
            hinted |= begin | end
    if not hinted:
        return []
    known = {id(text): text for each in searched for text in (each.text.whole or each.text,) if id(text) in hinted}
    # Include scripts without matches: they may only import others.
    known |= {id(text): text for text in texts if text.kind is FileKind.SCRIPT or text.is_prose}
    return linked_programs([script for text in known.values() for script in scripts_of(text)])


def _by_text(searched: list[SearchedText]) -> dict[int, list[SearchedText]]:
    """Group search results by text; lines that were put together count for the text that they come from."""
    parts: dict[int, list[SearchedText]] = {}
    for each in searched:
        parts.setdefault(id(each.text.whole or each.text), []).append(each)
    return parts


def _pattern_findings(searched: list[SearchedText], ruleset: Ruleset, purpose: SkillPurpose) -> Iterator[Finding]:
    candidates: dict[str, tuple[Rule, list[SearchedText]]] = {}
    for each in searched:
        for rule in {rule.id: rule for number in each.result.candidates for rule in ruleset.rules_of(number)}.values():
            candidates.setdefault(rule.id, (rule, []))[1].append(each)
    for _, (rule, texts) in sorted(candidates.items()):
        yield from rule_findings(rule, texts, searched, purpose)
