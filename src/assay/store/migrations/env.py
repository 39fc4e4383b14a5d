"""Alembic's entry point: runs on the connection that `store/database/migrate.py` provides."""

from alembic import context

from assay.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
