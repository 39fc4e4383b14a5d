"""`/healthz`, `/readyz`, `/metrics`."""

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
from assay.web.http.access import PUBLIC, UNASKED
from assay.web.http.dependencies import Assay, Counted
from assay.web.http.json import CheckView, ReadinessView
from assay.web.http.problems import answer, problems
from assay.web.operations.discovery_metrics import DiscoveryMetrics
from assay.web.operations.edge_metrics import read_edge_metrics
from assay.web.operations.github_metrics import GitHubMetrics
from assay.web.operations.queue_metrics import QueueMetrics

READINESS = {
    **problems(400),
    HTTP_503_SERVICE_UNAVAILABLE: answer(ReadinessView, "It cannot; the checks say why."),
}


@get("/healthz", tags=["health"], summary="Is this process alive?", opt=UNASKED, responses=problems(400))
async def healthz() -> dict[str, str]:
    """Answers as long as the process does; asks nobody else."""
    return {"status": "ok", "version": __version__}


@get("/readyz", tags=["health"], summary="Can this process do its work?", opt=PUBLIC, responses=READINESS)
async def readyz(assay: Assay) -> Response[ReadinessView]:
    """503 with the reason if the database, its schema or a secret is missing."""
    secrets_present = all(getattr(assay.settings, name) for name in SECRET_FIELDS)
    checks = await check_readiness(assay.store, secrets_present)
    ready = all(check.ok for check in checks)
    views = [CheckView(name=check.name, ok=check.ok, detail=check.detail) for check in checks]
    status = HTTP_200_OK if ready else HTTP_503_SERVICE_UNAVAILABLE
    return Response(ReadinessView(ready=ready, checks=views), status_code=status)


@get(
    "/metrics",
    tags=["health"],
    summary="Prometheus metrics",
    opt=PUBLIC,
    media_type=MediaType.TEXT,
    responses=problems(400, 503),
)
async def metrics(assay: Assay, traffic: Counted) -> str:
    """The numbers of the queue and of this process; an unreachable database is an error, never a zero."""
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
    Gauge("assay_skills", "Skills listed.", registry=registry).set(stats.skills)
    return registry
