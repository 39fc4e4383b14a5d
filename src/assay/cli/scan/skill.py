"""A skill on its way through the scanner: found, then examined, or failed with the reason."""

from dataclasses import dataclass

from assay.cli.registry.folder import LocalSkill, content_of
from assay.cli.scan.place import Place
from assay.cli.ui.exits import Exit
from assay.fetch.limits import Limits
from assay.model.errors import AssayError
from assay.model.finding import Report
from assay.model.source import Source
from assay.model.verdict import Verdict
from assay.policy.policy import UNEXAMINED, Policy, judge_report
from assay.scan.ruleset import Ruleset
from assay.scan.scan import scan_source
from assay.scan.text.front_matter import describe


@dataclass(frozen=True)
class Found:
    """A skill that can be read: still on disk, or in memory."""

    place: Place
    contents: LocalSkill | Source

    @property
    def where(self) -> str:
        """The place, in words."""
        return str(self.place)

    @property
    def size_bytes(self) -> int:
        """How much there is to look at."""
        if isinstance(self.contents, Source):
            return sum(map(len, self.contents.files.values()))
        return self.contents.size_bytes


@dataclass(frozen=True)
class Failed:
    """Something that was to be scanned and could not be; never silence, and never a verdict."""

    where: str
    message: str
    code: str
    exit: Exit = Exit.NOT_EXAMINED


@dataclass(frozen=True)
class Examined:
    """What the scanner saw of a skill, and what that means."""

    place: Place
    name: str
    report: Report
    verdict: Verdict

    @property
    def is_complete(self) -> bool:
        """Whether every rule could be tried."""
        return all(finding.family != UNEXAMINED for finding in self.report.findings)


Result = Examined | Failed


def examine(skill: Found, ruleset: Ruleset) -> Result:
    """Read, scan and judge one skill, as the registry does."""
    try:
        source = _read(skill.contents)
        report = scan_source(source, ruleset)
        return Examined(skill.place, _name(skill.place, source), report, judge_report(report, Policy()))
    except AssayError as problem:
        return Failed(skill.where, problem.message, problem.code)
    except Exception as bug:  # noqa: BLE001 — one skill that the scanner dies of must not hide the others
        return Failed(skill.where, f"The scanner failed: {type(bug).__name__}: {bug}", "scanner_failed")


def _read(contents: LocalSkill | Source) -> Source:
    if isinstance(contents, Source):
        return contents
    limits = Limits()
    return Source({path: content_of(contents.folder / path, limits) for path in contents.files}, commit="")


def _name(place: Place, source: Source) -> str:
    """What the skill calls itself, or else what its folder is called."""
    return describe(source.skill_md).name or str(place).rpartition("/")[2]
