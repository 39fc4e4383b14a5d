"""${message}."""

from assay.store.migrations.statements import run

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    run("${up_revision}.sql")
