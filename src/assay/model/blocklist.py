"""The blocklist: what nobody may publish, and why."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from assay.model.finding import Severity


class Threat(StrEnum):
    """What is bad about it. The names are those that clients of the old platform know."""

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
class Target:
    """What is blocked: these bytes wherever they turn up; a skill of one repository, or all of it; or a name anywhere.

    A name alone is the widest of them, and has to be asked for as such: `everywhere`. Something that is asked about has
    its repository's `former_names` too: to be called otherwise from now on is no way off the list.
    """

    content_digest: str | None = None
    repository: str | None = None
    skill_name: str | None = None
    everywhere: bool = False
    former_names: tuple[str, ...] = ()

    def is_about(self, asked: "Target") -> bool:
        """Whether an entry with this target is about what is asked: its bytes, its repository or the skill in it, or
        its name anywhere.
        """
        if self.content_digest is not None:
            return self.content_digest == asked.content_digest
        if self.repository is None:
            return self.everywhere and self.skill_name == asked.skill_name
        is_of_repository = self.repository in (asked.repository, *asked.former_names)
        return is_of_repository and self.skill_name in (None, asked.skill_name)


@dataclass(frozen=True, slots=True)
class BlocklistEntry:
    """One entry; it holds until it is lifted."""

    id: UUID
    target: Target
    threat: Threat
    severity: Severity
    reason: str
    evidence_urls: tuple[str, ...]
    discovered_at: datetime
    added_by: str
    lifted_at: datetime | None
