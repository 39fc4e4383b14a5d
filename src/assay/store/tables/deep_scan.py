"""Deep scans, scan nodes and webhook deliveries."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from assay.model.deep_scan import DeepStatus, DeepTool
from assay.store.tables.base import is_digest, metadata, moment, now, one_of

deep_scan = Table(
    "deep_scan",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("content_digest", Text, ForeignKey("content.digest"), nullable=False),
    Column("commit", Text, nullable=False),
    Column("tool", Text, nullable=False),
    # Set with the result; until then one row waits for any version.
    Column("tool_version", Text),
    Column("status", Text, nullable=False, server_default=DeepStatus.PENDING.value),
    Column("attempts", Integer, nullable=False, server_default="0"),
    # The node that claimed the scan; a result is accepted only under its lease.
    Column("node_id", Uuid),
    Column("lease", Uuid),
    moment("lease_expires_at"),
    now("created_at"),
    moment("finished_at"),
    Column("findings", JSONB, nullable=False, server_default=text("'[]'::jsonb")),
    Column("left_out", Integer, nullable=False, server_default="0"),
    Column("error", Text),
    Column("sandbox", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("duration_ms", Float),
    UniqueConstraint(
        "content_digest",
        "tool",
        "tool_version",
        name="deep_scan_subject_key",
        postgresql_nulls_not_distinct=True,
    ),
    is_digest("content_digest"),
    one_of("tool", DeepTool),
    one_of("status", DeepStatus),
    CheckConstraint(
        "(status = 'running') = (lease IS NOT NULL) AND num_nulls(node_id, lease, lease_expires_at) IN (0, 3)",
        name="leased",
    ),
    CheckConstraint("(status IN ('pending', 'running')) = (finished_at IS NULL)", name="finished"),
    CheckConstraint("(status = 'error') = (error IS NOT NULL)", name="error"),
)
# In the order of claims, by tool; expired leases; and recent errors.
Index(
    "deep_scan_pending_idx",
    deep_scan.c.tool,
    deep_scan.c.created_at,
    deep_scan.c.id,
    postgresql_where=text("status = 'pending'"),
)
Index("deep_scan_leased_idx", deep_scan.c.lease_expires_at, postgresql_where=text("status = 'running'"))
Index("deep_scan_error_idx", deep_scan.c.finished_at, postgresql_where=text("status = 'error'"))

scan_node = Table(
    "scan_node",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    # The address for pushed scans; NULL if the node only pulls.
    Column("url", Text),
    Column("capacity", Integer, nullable=False),
    Column("in_flight", Integer, nullable=False, server_default="0"),
    Column("tools", JSONB, nullable=False),
    Column("sandbox", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("version", Text, nullable=False),
    Column("push_failures", Integer, nullable=False, server_default="0"),
    now("started_at"),
    now("seen_at"),
    CheckConstraint("capacity BETWEEN 1 AND 1000", name="capacity"),
)
Index("scan_node_seen_at_idx", scan_node.c.seen_at)

# Signed deliveries, once: the insert protects against replays.
webhook_delivery = Table(
    "webhook_delivery",
    metadata,
    Column("id", Text, primary_key=True),
    Column("deep_scan_id", Uuid),
    now("received_at"),
)
Index("webhook_delivery_received_at_idx", webhook_delivery.c.received_at)
