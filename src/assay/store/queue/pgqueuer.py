"""PgQueuer's table names in this schema, set explicitly because PgQueuer would read them from the environment."""

from pgqueuer.adapters.persistence.qb import (
    QueryBuilderEnvironment,
    QueryQueueBuilder,
    QuerySchedulerBuilder,
)
from pgqueuer.adapters.persistence.queries import Queries
from pgqueuer.domain.settings import DBSettings, Durability
from pgqueuer.domain.types import Channel
from pgqueuer.ports.driver import Driver

NAMES = DBSettings(
    prefix="",
    channel=Channel("ch_pgqueuer"),
    function="fn_pgqueuer_changed",
    statistics_table="pgqueuer_statistics",
    queue_status_type="pgqueuer_status",
    queue_table="pgqueuer",
    queue_table_log="pgqueuer_log",
    trigger="tg_pgqueuer_changed",
    schedules_table="pgqueuer_schedules",
    durability=Durability.durable,
)


def queries_on(driver: Driver) -> Queries:
    """Return PgQueuer's queries on a connection or pool."""
    return Queries(driver, QueryBuilderEnvironment(NAMES), QueryQueueBuilder(NAMES), QuerySchedulerBuilder(NAMES))
