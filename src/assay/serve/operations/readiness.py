"""Whether this process can do its work."""

from dataclasses import dataclass

from assay.model.errors import Conflict, Unavailable
from assay.store.database.database import Database
from assay.store.database.migrate import check_schema


@dataclass(frozen=True)
class Check:
    """One condition, and what is wrong if it does not hold."""

    name: str
    ok: bool
    detail: str


async def check_readiness(store: Database, secrets_present: bool) -> list[Check]:
    """Database, migrations, secrets: each on its own, so that one failure does not hide another."""
    checks = [Check("secrets", secrets_present, "present" if secrets_present else "missing")]
    try:
        await store.ping()  # also when it is thought to be away
        await check_schema(store)
    except Unavailable as problem:
        unknown = Check("migrations", ok=False, detail="unknown while the database is away")
        return [Check("database", ok=False, detail=problem.message), unknown, *checks]
    except Conflict as problem:
        return [
            Check("database", ok=True, detail="answers"),
            Check("migrations", False, problem.message),
            *checks,
        ]
    return [Check("database", ok=True, detail="answers"), Check("migrations", True, "up to date"), *checks]
