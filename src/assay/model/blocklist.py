"""Blocklist entries and their targets."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from assay.model.finding import Severity


class Threat(StrEnum):
    """The kind of threat. Clients of the old platform know these names."""

    CREDENTIAL_THEFT = "credential-theft"
    DATA_EXFILTRATION = "data-exfiltration"
    MALWARE = "malware"
    PROMPT_INJECTION = "prompt-injection"
    SUPPLY_CHAIN = "supply-chain"
    SOCIAL_ENGINEERING = "social-engineering"
    DESTRUCTIVE = "destructive"
    IMPERSONATION = "impersonation"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class BlocklistTarget:
    """A content anywhere, a repository or one skill in it, or a skill name in all repositories (`everywhere`).

    When a target describes a skill to be checked, `former_names` are earlier names of its repository, so that renaming
    it does not evade an entry.
    """

    content_digest: str | None = None
    repository: str | None = None
    skill_name: str | None = None
    everywhere: bool = False
    former_names: tuple[str, ...] = ()

    def applies_to(self, skill: "BlocklistTarget") -> bool:
        if self.content_digest is not None:
            return self.content_digest == skill.content_digest
        if self.repository is None:
            return self.everywhere and self.skill_name == skill.skill_name
        is_in_repository = self.repository in (skill.repository, *skill.former_names)
        return is_in_repository and self.skill_name in (None, skill.skill_name)


@dataclass(frozen=True, slots=True)
class BlocklistEntry:
    """An entry, in force until it is lifted."""

    id: UUID
    target: BlocklistTarget
    threat: Threat
    severity: Severity
    reason: str
    evidence_urls: tuple[str, ...]
    discovered_at: datetime
    added_by: str
    lifted_at: datetime | None
