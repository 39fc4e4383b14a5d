"""Every table, constraint, index and trigger. The migrations build exactly this; a test compares the two."""

from assay.store.tables.account import account, account_session, sign_in_attempt
from assay.store.tables.base import metadata
from assay.store.tables.blocklist import blocklist_entry
from assay.store.tables.change import change
from assay.store.tables.content import content, finding, scan
from assay.store.tables.operation import (
    alarm,
    audit_event,
    chore,
    given_answer,
    process,
    queue_pause,
    search_miss,
    search_probe,
)
from assay.store.tables.repository import repository, repository_alias, upstream_check
from assay.store.tables.review import appeal, review, security_report, suppression
from assay.store.tables.skill import (
    dist_tag,
    install_day,
    install_event,
    signing_key,
    skill,
    skill_alias,
    skill_count,
    skill_version,
)
from assay.store.tables.submission import (
    submission,
    submission_arrival,
    submission_count,
    submission_count_delta,
    submission_event,
)

__all__ = [
    "account",
    "account_session",
    "alarm",
    "appeal",
    "audit_event",
    "blocklist_entry",
    "change",
    "chore",
    "content",
    "dist_tag",
    "finding",
    "given_answer",
    "install_day",
    "install_event",
    "metadata",
    "process",
    "queue_pause",
    "repository",
    "repository_alias",
    "review",
    "scan",
    "search_miss",
    "search_probe",
    "security_report",
    "sign_in_attempt",
    "signing_key",
    "skill",
    "skill_alias",
    "skill_count",
    "skill_version",
    "submission",
    "submission_arrival",
    "submission_count",
    "submission_count_delta",
    "submission_event",
    "suppression",
    "upstream_check",
]
