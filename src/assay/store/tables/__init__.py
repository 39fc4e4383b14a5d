"""All tables, constraints, indexes and triggers. A test checks that the migrations build exactly this."""

from assay.store.tables.account import account, account_session, account_token, sign_in_attempt
from assay.store.tables.base import metadata
from assay.store.tables.change import change
from assay.store.tables.content import content, finding, registry, scan, stored_blob
from assay.store.tables.deep_scan import deep_scan, scan_node, webhook_delivery
from assay.store.tables.discovery import (
    discovery_known,
    discovery_record,
    discovery_run,
    discovery_sighting,
    discovery_source,
)
from assay.store.tables.judge import llm_day, llm_endpoint, replay, ruleset, second_look
from assay.store.tables.moderation import appeal, blocklist_entry, review, security_report, suppression
from assay.store.tables.namespace import namespace, namespace_claim
from assay.store.tables.operation import (
    alarm,
    audit_event,
    chore,
    given_answer,
    process,
    queue_pause,
    queue_share,
    search_miss,
    search_probe,
)
from assay.store.tables.repository import (
    github_allowance,
    github_answer,
    github_token,
    repository,
    repository_alias,
    upstream_check,
)
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
    "account_token",
    "alarm",
    "appeal",
    "audit_event",
    "blocklist_entry",
    "change",
    "chore",
    "content",
    "deep_scan",
    "discovery_known",
    "discovery_record",
    "discovery_run",
    "discovery_sighting",
    "discovery_source",
    "dist_tag",
    "finding",
    "github_allowance",
    "github_answer",
    "github_token",
    "given_answer",
    "install_day",
    "install_event",
    "llm_day",
    "llm_endpoint",
    "metadata",
    "namespace",
    "namespace_claim",
    "process",
    "queue_pause",
    "queue_share",
    "registry",
    "replay",
    "repository",
    "repository_alias",
    "review",
    "ruleset",
    "scan",
    "scan_node",
    "search_miss",
    "search_probe",
    "second_look",
    "security_report",
    "sign_in_attempt",
    "signing_key",
    "skill",
    "skill_alias",
    "skill_count",
    "skill_version",
    "stored_blob",
    "submission",
    "submission_arrival",
    "submission_count",
    "submission_count_delta",
    "submission_event",
    "suppression",
    "upstream_check",
    "webhook_delivery",
]
