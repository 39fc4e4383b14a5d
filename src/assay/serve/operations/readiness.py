"""Readiness: whether this process can do its work."""

from dataclasses import dataclass

from assay.model.errors import Conflict, Unavailable
from assay.store.database.database import Database
from assay.store.database.migrate import check_schema


@dataclass(frozen=True)
class ReadinessCheck:
    """A condition, with a detail that explains a failure."""

    name: str
    ok: bool
    detail: str


async def check_readiness(store: Database, secrets_present: bool) -> list[ReadinessCheck]:
    """Check the database, migrations and secrets separately, so that one failure does not hide another."""
    checks = [ReadinessCheck("secrets", secrets_present, "present" if secrets_present else "missing")]
    try:
        await store.ping()  # also if the circuit breaker is open
        await check_schema(store)
    except Unavailable as error:
        unknown = ReadinessCheck("migrations", ok=False, detail="unknown while the database is down")
        return [ReadinessCheck("database", ok=False, detail=error.message), unknown, *checks]
    except Conflict as error:
        return [
            ReadinessCheck("database", ok=True, detail="answers"),
            ReadinessCheck("migrations", False, error.message),
            *checks,
        ]
    return [
        ReadinessCheck("database", ok=True, detail="answers"),
        ReadinessCheck("migrations", True, "up to date"),
        *checks,
    ]
