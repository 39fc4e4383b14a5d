"""Many skills a start: what a tool says is split by skill, and a skill at which it fails is found and reported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from assay.cage.run import Command, Ended, Limits, run_caged
from assay.deepscan.excerpt import LONGEST_MESSAGE, excerpt_of, plain
from assay.deepscan.tool import Reading, Tool, ToolBroken, ToolFailed
from assay.deepscan.tools.secret import FAMILY as SECRET
from assay.deepscan.workplace import CANARY, Skill, Workplace, has_kind, places
from assay.model.deep_scan import MOST_FINDINGS, DeepResult, DeepStatus
from assay.model.finding import Finding, Severity
from assay.scratch import scratch_folder

MILLISECONDS = 1000
_BY_SEVERITY = {severity: place for place, severity in enumerate(Severity)}


@dataclass(frozen=True)
class Scanned:
    """The result of each skill by its digest, and what the kernel refused to take from the tool."""

    results: Mapping[str, DeepResult]
    refused: Mapping[str, str]


async def scan_batch(tool: Tool, skills: Sequence[Skill], limits: Limits) -> Scanned:
    """Look at all of them, in as few starts as possible. Raises ToolBroken if the tool fails without them, too."""
    concerned = [skill for skill in skills if has_kind(skill.files, tool.looks_at)]
    results = {skill.digest: DeepResult(DeepStatus.NOT_APPLICABLE) for skill in skills}
    refused: dict[str, str] = {}
    if concerned:
        results |= await _scan(tool, concerned, limits, refused, knows_it_works=False)
    return Scanned(results, refused)


async def prepare(tool: Tool, limits: Limits) -> Mapping[str, str]:
    """Look at the canary alone, with the cache open. Raises ToolBroken if it is not found; says what is refused."""
    refused: dict[str, str] = {}
    try:
        await _start(tool, [], limits, refused, fills_cache=True)
    except ToolFailed as problem:
        raise ToolBroken(f"{tool.name} does not work here: {problem}") from problem
    return refused


async def _scan(
    tool: Tool, skills: Sequence[Skill], limits: Limits, refused: dict[str, str], *, knows_it_works: bool
) -> dict[str, DeepResult]:
    started = perf_counter()
    try:
        reading, workplace = await _start(tool, skills, limits, refused)
    except ToolFailed as problem:
        if not knows_it_works:
            await _try_without_skills(tool, limits, refused)
        if len(skills) == 1:
            return {skills[0].digest: DeepResult(DeepStatus.ERROR, error=plain(str(problem), LONGEST_MESSAGE))}
        half = len(skills) // 2
        first = await _scan(tool, skills[:half], limits, refused, knows_it_works=True)
        return first | await _scan(tool, skills[half:], limits, refused, knows_it_works=True)
    each_ms = (perf_counter() - started) * MILLISECONDS / len(skills)
    return {
        digest: replace(result, duration_ms=each_ms) for digest, result in _split(reading, workplace, skills).items()
    }


async def _try_without_skills(tool: Tool, limits: Limits, refused: dict[str, str]) -> None:
    try:
        await _start(tool, [], limits, refused)
    except ToolFailed as problem:
        raise ToolBroken(f"{tool.name} does not work here: {problem}") from problem


async def _start(
    tool: Tool, skills: Sequence[Skill], limits: Limits, refused: dict[str, str], *, fills_cache: bool = False
) -> tuple[Reading, Workplace]:
    """One start of the tool, whose canary it must have found."""
    with scratch_folder("deepscan") as folder:
        workplace = Workplace(folder / "skills", folder / "scratch")
        workplace.folder.mkdir()
        workplace.scratch.mkdir()
        for place, skill in places(skills):
            workplace.add(place, skill, tool.looks_at)
        path, content = tool.canary
        workplace.add(CANARY, Skill(CANARY, {path: content}), lambda _kind: True)
        command = Command(
            program=tool.program(workplace),
            folder=workplace.folder,
            environment=tool.environment,
            readable=[*tool.readable, *([tool.cache] if tool.cache else [])],
            writable=[workplace.scratch, *([tool.cache] if tool.cache and fills_cache else [])],
        )
        ended = await run_caged(command, limits)
        refused |= ended.refused
        reading = _read(tool, ended, workplace, limits)
    return reading, workplace


def _read(tool: Tool, ended: Ended, workplace: Workplace, limits: Limits) -> Reading:
    if not ended.was_caged:
        raise ToolFailed(f"this machine cannot keep it off the network ({', '.join(sorted(ended.refused))})")
    if ended.timed_out:
        raise ToolFailed(f"it took longer than {limits.wall_seconds:.0f} s")
    if ended.overflowed:
        raise ToolFailed(f"it said more than {limits.output_bytes:,} bytes")
    if ended.code not in tool.good_exits:
        raise ToolFailed(f"it ended with {ended.code}: {_last_line(ended.errors)}")
    output = ended.output
    if tool.output_name is not None:
        output = _output_of(workplace.scratch / tool.output_name, limits)
    reading = tool.read(output)
    if not any(name.startswith(f"{CANARY}/") for name, _ in reading.findings):
        raise ToolFailed("it did not find what it must find, so it has not looked")
    return reading


def _output_of(file: Path, limits: Limits) -> bytes:
    try:
        with file.open("rb") as opened:
            output = opened.read(limits.output_bytes + 1)
    except OSError:
        raise ToolFailed("it wrote no report") from None
    if len(output) > limits.output_bytes:
        raise ToolFailed(f"it wrote more than {limits.output_bytes:,} bytes")
    return output


def _split(reading: Reading, workplace: Workplace, skills: Sequence[Skill]) -> dict[str, DeepResult]:
    """Of each skill its own; what is told of a file that is not there is nobody's."""
    contents = {skill.digest: skill.files for skill in skills}
    found: dict[str, list[Finding]] = {digest: [] for digest in contents}
    failed: dict[str, str] = {}
    for name, finding in reading.findings:
        digest, path = workplace.files.get(name, (CANARY, ""))
        if digest in found:
            excerpt = excerpt_of(contents[digest][path], finding.line)
            found[digest].append(replace(finding, file=path, excerpt="" if finding.family == SECRET else excerpt))
    for name, why in reading.failures:
        digest, path = workplace.files.get(name, (CANARY, ""))
        if digest in found:
            failed.setdefault(digest, plain(f"{path}: {why}", LONGEST_MESSAGE))
    return {digest: _result(findings, failed.get(digest)) for digest, findings in found.items()}


def _result(findings: list[Finding], failure: str | None) -> DeepResult:
    """The worst first; what was found is kept also if something else could not be looked at."""
    worst = sorted(set(findings), key=lambda each: (_BY_SEVERITY[each.severity], each.file, each.line, each.rule_id))
    status = DeepStatus.ERROR if failure else DeepStatus.FINDINGS if worst else DeepStatus.CLEAN
    return DeepResult(status, tuple(worst[:MOST_FINDINGS]), max(0, len(worst) - MOST_FINDINGS), failure)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return plain(lines[-1], LONGEST_MESSAGE) if lines else "it gave no reason"
