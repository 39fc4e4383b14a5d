"""A suppression: a finding that a person has looked at, and that does not count until a date."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from assay.model.finding import Finding


class Scope(StrEnum):
    """Where the finding does not count: in exactly these bytes, whoever has them; or in this skill as it changes."""

    CONTENT = "content"
    SKILL = "skill"


@dataclass(frozen=True, slots=True)
class Suppression:
    """One rule in one file, until a date. In a skill that changes only what the rule matched then is suppressed:
    another match of the same rule is another finding.
    """

    id: UUID
    scope: Scope
    rule_id: str
    file: str
    repository_id: int
    skill_path: str
    content_digest: str
    excerpts: tuple[str, ...]
    until: datetime
    reason: str
    by: str
    created_at: datetime
    ended_at: datetime | None = None
    ended_by: str | None = None
    ended_reason: str | None = None

    @property
    def holds(self) -> bool:
        """Whether it has not been ended: by somebody, or because its time was over."""
        return self.ended_at is None

    def is_about(self, digest: str, repository_id: int, skill_path: str) -> bool:
        """Whether it is about a content of a skill."""
        if self.scope is Scope.CONTENT:
            return self.content_digest == digest
        return (self.repository_id, self.skill_path) == (repository_id, skill_path)

    def covers(self, finding: Finding) -> bool:
        """Whether this is the finding that is meant."""
        if (finding.rule_id, finding.file) != (self.rule_id, self.file):
            return False
        return self.scope is Scope.CONTENT or finding.excerpt in self.excerpts
