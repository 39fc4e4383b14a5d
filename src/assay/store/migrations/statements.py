"""Running the SQL file of a migration."""

from importlib.resources import files

from alembic import op

SEPARATOR = "\n-- ;\n"


def run(name: str) -> None:
    """Execute the statements of a file beside the migrations one at a time; a line `-- ;` ends a statement."""
    script = files("assay.store.migrations").joinpath("versions", name).read_text()
    for statement in script.split(SEPARATOR):
        op.get_bind().exec_driver_sql(statement)
