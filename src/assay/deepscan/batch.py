"""Scans many skills in one run of a tool, splits the report by skill, and isolates skills on which the tool fails."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from assay.cage.run import CagedCommand, CagedExit, CageLimits, run_caged
from assay.deepscan.excerpt import LONGEST_MESSAGE, excerpt_of, printable_line
from assay.deepscan.tool import Tool, ToolBroken, ToolFailed, ToolReport
from assay.deepscan.tools.secret import FAMILY as SECRET
from assay.deepscan.workspace import CANARY, SkillFiles, Workspace, has_kind, numbered_folders
from assay.model.deep_scan import MAX_FINDINGS, DeepResult, DeepStatus
from assay.model.finding import Finding, Severity
from assay.scratch import scratch_folder

MILLISECONDS = 1000
_SEVERITY_ORDER = {severity: position for position, severity in enumerate(Severity)}


@dataclass(frozen=True)
class BatchResult:
    """Results by content digest, and the restrictions of the cage that the kernel refused."""

    results: Mapping[str, DeepResult]
    refused: Mapping[str, str]


async def scan_batch(tool: Tool, skills: Sequence[SkillFiles], limits: CageLimits) -> BatchResult:
    """Scan skills in as few runs as possible. Raises ToolBroken if the tool also fails without any skill."""
    applicable = [skill for skill in skills if has_kind(skill.files, tool.accepts)]
    results = {skill.digest: DeepResult(DeepStatus.NOT_APPLICABLE) for skill in skills}
    refused: dict[str, str] = {}
    if applicable:
        results |= await _scan(tool, applicable, limits, refused, is_tool_checked=False)
    return BatchResult(results, refused)


async def prepare(tool: Tool, limits: CageLimits) -> Mapping[str, str]:
    """Scan only the canary, with a writable cache; return refused restrictions. Raises ToolBroken if it is missed."""
    refused: dict[str, str] = {}
    try:
        await _run(tool, [], limits, refused, fills_cache=True)
    except ToolFailed as error:
        raise ToolBroken(f"{tool.name} does not work on this machine: {error}") from error
    return refused


async def _scan(
    tool: Tool, skills: Sequence[SkillFiles], limits: CageLimits, refused: dict[str, str], *, is_tool_checked: bool
) -> dict[str, DeepResult]:
    started = perf_counter()
    try:
        report, workspace = await _run(tool, skills, limits, refused)
    except ToolFailed as error:
        if not is_tool_checked:
            await _check_tool(tool, limits, refused)
        if len(skills) == 1:
            return {skills[0].digest: DeepResult(DeepStatus.ERROR, error=printable_line(str(error), LONGEST_MESSAGE))}
        half = len(skills) // 2
        first = await _scan(tool, skills[:half], limits, refused, is_tool_checked=True)
        return first | await _scan(tool, skills[half:], limits, refused, is_tool_checked=True)
    each_ms = (perf_counter() - started) * MILLISECONDS / len(skills)
    return {
        digest: replace(result, duration_ms=each_ms) for digest, result in _split(report, workspace, skills).items()
    }


async def _check_tool(tool: Tool, limits: CageLimits, refused: dict[str, str]) -> None:
    try:
        await _run(tool, [], limits, refused)
    except ToolFailed as error:
        raise ToolBroken(f"{tool.name} does not work on this machine: {error}") from error


async def _run(
    tool: Tool, skills: Sequence[SkillFiles], limits: CageLimits, refused: dict[str, str], *, fills_cache: bool = False
) -> tuple[ToolReport, Workspace]:
    """Run the tool once; raise ToolFailed unless it found the canary."""
    with scratch_folder("deepscan") as folder:
        workspace = Workspace(folder / "skills", folder / "scratch")
        workspace.folder.mkdir()
        workspace.scratch.mkdir()
        for folder_name, skill in numbered_folders(skills):
            workspace.add(folder_name, skill, tool.accepts)
        path, content = tool.canary
        workspace.add(CANARY, SkillFiles(CANARY, {path: content}), lambda _kind: True)
        command = CagedCommand(
            program=tool.program(workspace),
            folder=workspace.folder,
            environment=tool.environment,
            readable=[*tool.readable, *([tool.cache] if tool.cache else [])],
            writable=[workspace.scratch, *([tool.cache] if tool.cache and fills_cache else [])],
        )
        exit_ = await run_caged(command, limits)
        refused |= exit_.refused
        report = _read(tool, exit_, workspace, limits)
    return report, workspace


def _read(tool: Tool, exit_: CagedExit, workspace: Workspace, limits: CageLimits) -> ToolReport:
    if not exit_.was_caged:
        raise ToolFailed(f"this machine cannot isolate it from the network ({', '.join(sorted(exit_.refused))})")
    if exit_.timed_out:
        raise ToolFailed(f"it took longer than {limits.wall_seconds:.0f} s")
    if exit_.overflowed:
        raise ToolFailed(f"it printed more than {limits.output_bytes:,} bytes")
    if exit_.code not in tool.success_codes:
        raise ToolFailed(f"it exited with {exit_.code}: {_last_line(exit_.errors)}")
    output = exit_.output
    if tool.output_name is not None:
        output = _read_output(workspace.scratch / tool.output_name, limits)
    report = tool.read(output)
    if not any(name.startswith(f"{CANARY}/") for name, _ in report.findings):
        raise ToolFailed("it did not find the canary, so it has not examined anything")
    return report


def _read_output(file: Path, limits: CageLimits) -> bytes:
    try:
        with file.open("rb") as opened:
            output = opened.read(limits.output_bytes + 1)
    except OSError:
        raise ToolFailed("it wrote no report file") from None
    if len(output) > limits.output_bytes:
        raise ToolFailed(f"it wrote more than {limits.output_bytes:,} bytes")
    return output


def _split(report: ToolReport, workspace: Workspace, skills: Sequence[SkillFiles]) -> dict[str, DeepResult]:
    """Assign findings and failures to their skills; those for unknown files are dropped."""
    contents = {skill.digest: skill.files for skill in skills}
    found: dict[str, list[Finding]] = {digest: [] for digest in contents}
    failed: dict[str, str] = {}
    for name, finding in report.findings:
        digest, path = workspace.files.get(name, (CANARY, ""))
        if digest in found:
            excerpt = excerpt_of(contents[digest][path], finding.line)
            found[digest].append(replace(finding, file=path, excerpt="" if finding.family == SECRET else excerpt))
    for name, reason in report.failures:
        digest, path = workspace.files.get(name, (CANARY, ""))
        if digest in found:
            failed.setdefault(digest, printable_line(f"{path}: {reason}", LONGEST_MESSAGE))
    return {digest: _result(findings, failed.get(digest)) for digest, findings in found.items()}


def _result(findings: list[Finding], failure: str | None) -> DeepResult:
    """Build a result with the most severe findings first; findings are kept even if a file could not be examined."""
    worst = sorted(set(findings), key=lambda each: (_SEVERITY_ORDER[each.severity], each.file, each.line, each.rule_id))
    status = DeepStatus.ERROR if failure else DeepStatus.FINDINGS if worst else DeepStatus.CLEAN
    return DeepResult(status, tuple(worst[:MAX_FINDINGS]), max(0, len(worst) - MAX_FINDINGS), failure)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return printable_line(lines[-1], LONGEST_MESSAGE) if lines else "it gave no reason"
