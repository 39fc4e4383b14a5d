"""`/healthz`, `/readyz`, `/metrics`."""

import msgspec
from litestar import MediaType, Response, get
from litestar.status_codes import HTTP_200_OK, HTTP_503_SERVICE_UNAVAILABLE
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.registry import Collector

from assay import __version__
from assay.app.maintenance import watch_limits
from assay.serve.operations.readiness import check_readiness
from assay.serve.queue.health import QueueHealth, read_queue_health
from assay.serve.submissions.stats import Stats, read_stats
from assay.settings import SECRET_FIELDS
from assay.store.repositories.call_budgets import list_calls_left
from assay.web.http.access import PUBLIC, UNIDENTIFIED
from assay.web.http.context import Assay, Counted
from assay.web.http.errors import problems, response_spec
from assay.web.http.json import View
from assay.web.http.limits import UNLIMITED
from assay.web.operations.metrics import DiscoveryMetrics, GitHubMetrics, QueueMetrics, read_edge_metrics


class CheckView(View, frozen=True):
    """One readiness check."""

    name: str
    ok: bool
    detail: str


class ReadinessView(View, frozen=True):
    """Readiness of this process, with the checks that it depends on."""

    ready: bool
    checks: list[CheckView]


READINESS = {
    **problems(400),
    HTTP_503_SERVICE_UNAVAILABLE: response_spec(ReadinessView, "The process is not ready; the checks say why."),
}


@get("/healthz", tags=["health"], summary="Check liveness", opt=UNIDENTIFIED | UNLIMITED, responses=problems(400))
async def healthz() -> dict[str, str]:
    """Respond as long as the process runs, without checking any dependency."""
    return {"status": "ok", "version": __version__}


@get("/readyz", tags=["health"], summary="Check readiness", opt=PUBLIC | UNLIMITED, responses=READINESS)
async def readyz(assay: Assay) -> Response[ReadinessView]:
    """Check the database, its schema and the secrets; responds with 503 and the reason if one of them is missing."""
    secrets_present = all(getattr(assay.settings, name) for name in SECRET_FIELDS)
    checks = await check_readiness(assay.store, secrets_present)
    ready = all(check.ok for check in checks)
    views = msgspec.convert(checks, list[CheckView], from_attributes=True)
    status = HTTP_200_OK if ready else HTTP_503_SERVICE_UNAVAILABLE
    return Response(ReadinessView(ready=ready, checks=views), status_code=status)


@get(
    "/metrics",
    tags=["health"],
    summary="Get Prometheus metrics",
    opt=PUBLIC | UNLIMITED,
    media_type=MediaType.TEXT,
    responses=problems(400, 503),
)
async def metrics(assay: Assay, traffic: Counted) -> str:
    """Return the metrics of the registry and of this process.

    Responds with 503 if the database is unavailable; unknown values are never reported as zero.
    """
    now = assay.clock.now()
    async with assay.store.snapshot() as db:
        stats = await read_stats(db, now)
        health = await read_queue_health(db, now, watch_limits(assay.settings))
        edge = await read_edge_metrics(db, assay.edge, assay.copy.tally)
        github = GitHubMetrics(await list_calls_left(db, now))
    return generate_latest(_registry(stats, health, edge, github)).decode() + generate_latest(traffic.registry).decode()


def _registry(stats: Stats, health: QueueHealth, *others: Collector) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(QueueMetrics(health))
    for each in others:
        registry.register(each)
    registry.register(DiscoveryMetrics(health.facts.discovery))
    submissions = Gauge("assay_submissions", "Submissions by state.", ["state"], registry=registry)
    for state, number in stats.by_state.items():
        submissions.labels(state.value).set(number)
    Gauge("assay_skills", "Live listings.", registry=registry).set(stats.skills)
    return registry
