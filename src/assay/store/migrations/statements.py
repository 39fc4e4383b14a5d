"""Runs the statements of a migration's SQL file, one at a time."""

from importlib.resources import files

from alembic import op

SEPARATOR = "\n-- ;\n"


def run(name: str) -> None:
    """Execute every statement of a file beside the migrations; a line `-- ;` ends a statement."""
    script = files("assay.store.migrations").joinpath("versions", name).read_text()
    for statement in script.split(SEPARATOR):
        op.get_bind().exec_driver_sql(statement)
