"""How many requests, how long: by route and known method, never by path, so that the number of series is bounded."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter

from litestar.enums import HttpMethod, ScopeType
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from assay.serve.feed.subscribers import Audience
from assay.web.http.sse import EVENT_STREAM

METHODS = frozenset(method.value for method in HttpMethod)


@dataclass
class Traffic:
    """The metrics of one web process."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        labels = ["method", "route"]
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "assay_http_requests", "Requests answered.", [*labels, "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "assay_http_request_seconds", "Seconds until the answer is sent.", labels, registry=self.registry
        )

    def watch(self, audience: Audience) -> None:
        """Show who listens to live events."""
        self.registry.register(_Listening(audience))


def count_requests(app: ASGIApp, traffic_of: Callable[[Scope], Traffic]) -> ASGIApp:
    """Counts every request that passes; around the router, so that what no route answers counts too."""

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            return await app(scope, receive, send)
        traffic = traffic_of(scope)
        method = scope["method"] if scope["method"] in METHODS else "other"
        started, status, is_counted = perf_counter(), 500, False

        def count() -> None:
            nonlocal is_counted
            if is_counted:
                return
            is_counted = True
            route = scope.get("path_template") or "unknown"
            traffic.requests.labels(method, route, status).inc()
            traffic.seconds.labels(method, route).observe(perf_counter() - started)

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if _has_no_end(message):
                    count()
            await send(message)

        try:
            await app(scope, receive, noting)
        finally:
            count()
        return None

    return counted


@dataclass(frozen=True)
class _Listening(Collector):
    """The audience of this process, as it is when the metrics are read."""

    audience: Audience

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """The numbers of the moment."""
        tally = self.audience.tally
        yield GaugeMetricFamily("assay_listeners", "Open streams of live events.", len(self.audience))
        yield CounterMetricFamily("assay_events_sent", "Live events sent, all streams together.", tally.events_sent)
        yield CounterMetricFamily(
            "assay_listeners_dropped", "Streams cut off because they did not keep up.", tally.listeners_dropped
        )


def _has_no_end(start: HTTPResponseStartEvent) -> bool:
    """Whether this is a stream, which has been answered when it begins."""
    return any(name.lower() == b"content-type" and value.decode() == EVENT_STREAM for name, value in start["headers"])
