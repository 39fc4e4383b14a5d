"""Alembic's entry: it runs on the connection that store/migrate.py hands in."""

from alembic import context

from assay.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
