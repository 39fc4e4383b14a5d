"""A skill in the scanner: its location, and its state as found, scanned or failed."""

from dataclasses import dataclass

from assay.cli.skill_folders.local_skill import LocalSkill, read_content
from assay.cli.ui.exit_codes import Exit
from assay.fetch.limits import Limits
from assay.model.errors import AssayError
from assay.model.finding import Report
from assay.model.source import Source
from assay.model.verdict import Verdict
from assay.policy.policy import UNEXAMINED, Policy, static_verdict
from assay.scan.ruleset import Ruleset
from assay.scan.scan import scan_source
from assay.scan.text.front_matter import describe


@dataclass(frozen=True)
class ScanRoot:
    """The working directory, another folder, an archive, or a repository at a commit.

    `label` is displayed and `uri` is opened by programs. The working directory has neither, because paths are relative
    to it. Archives have no `uri`, because programs cannot open files in them; repositories outside GitHub have none,
    because each host has its own URLs for files.
    """

    label: str = ""
    uri: str | None = None
    repository: str | None = None
    commit: str | None = None


WORKING_DIRECTORY = ScanRoot()


@dataclass(frozen=True)
class SkillLocation:
    """A folder below a root; empty for the root itself."""

    root: ScanRoot
    folder: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (self.root.label, self.folder))) or "."

    def path_of(self, file: str) -> str:
        """Return the path of a file of the skill, relative to the root."""
        return f"{self.folder}/{file}" if self.folder else file


@dataclass(frozen=True)
class FoundSkill:
    """A skill that can be read, on disk or in memory."""

    location: SkillLocation
    contents: LocalSkill | Source

    @property
    def where(self) -> str:
        return str(self.location)

    @property
    def size_bytes(self) -> int:
        if isinstance(self.contents, Source):
            return sum(map(len, self.contents.files.values()))
        return self.contents.size_bytes


@dataclass(frozen=True)
class FailedSkill:
    """A skill that could not be scanned, and that therefore has no verdict."""

    where: str
    message: str
    code: str
    exit: Exit = Exit.NOT_SCANNED


@dataclass(frozen=True)
class ScannedSkill:
    location: SkillLocation
    name: str
    report: Report
    verdict: Verdict

    @property
    def is_complete(self) -> bool:
        """True if every rule could be applied."""
        return all(finding.family != UNEXAMINED for finding in self.report.findings)


Result = ScannedSkill | FailedSkill


def scan_skill(skill: FoundSkill, ruleset: Ruleset) -> Result:
    """Read and scan one skill, and apply the registry's policy."""
    try:
        source = _read(skill.contents)
        report = scan_source(source, ruleset)
        return ScannedSkill(skill.location, _name(skill.location, source), report, static_verdict(report, Policy()))
    except AssayError as problem:
        return FailedSkill(skill.where, problem.message, problem.code)
    except Exception as bug:  # noqa: BLE001 - a skill that crashes the scanner must not hide the others
        return FailedSkill(skill.where, f"The scanner failed: {type(bug).__name__}: {bug}", "scanner_failed")


def _read(contents: LocalSkill | Source) -> Source:
    if isinstance(contents, Source):
        return contents
    limits = Limits()
    return Source({path: read_content(contents.folder / path, limits) for path in contents.files}, commit="")


def _name(location: SkillLocation, source: Source) -> str:
    """Return the name in the front matter, or else that of the folder."""
    return describe(source.skill_md).name or str(location).rpartition("/")[2]
