"""The change feed."""

from sqlalchemy import BigInteger, Column, Identity, Index, Table, Text, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB

from assay.model.change import ChangeKind
from assay.store.tables.base import TransactionId, metadata, now, one_of, run_after

change = Table(
    "change",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("transaction_id", TransactionId, nullable=False, server_default=text("pg_current_xact_id()")),
    # Assigned after the commit, in an order that late commits cannot change: see `store/feed/changes.py`.
    Column("serial", BigInteger, unique=True),
    Column("kind", Text, nullable=False),
    # No foreign keys: a record is written with its subject, and none is ever deleted.
    Column("submission_id", Uuid),
    Column("skill_id", Uuid),
    Column("data", JSONB, nullable=False),
    now("created_at"),
    one_of("kind", ChangeKind),
)
# For the last changes of one listing, on its page and in the edge copy.
Index("change_skill_id_idx", change.c.skill_id, change.c.serial, postgresql_where=change.c.skill_id.is_not(None))
# For new changes of the blocklist among millions of others.
Index("change_blocklist_idx", change.c.serial, postgresql_where=text("kind IN ('block', 'unblock')"))
Index(
    "change_unnumbered_idx",
    change.c.transaction_id,
    change.c.id,
    postgresql_where=change.c.serial.is_(None),
)

# Notifies subscribers at the commit, once per transaction.
run_after(
    """
CREATE FUNCTION announce_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('assay_change', '');
    RETURN NULL;
END
$$
"""
)
run_after("CREATE TRIGGER announce_change AFTER INSERT ON change FOR EACH STATEMENT EXECUTE FUNCTION announce_change()")
