"""HTTP metrics by route template and known method, never by path, so that the number of series stays bounded."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter

from litestar.enums import HttpMethod, ScopeType
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from assay.serve.feed.subscribers import Subscribers
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
            "assay_http_request_seconds", "Seconds until the response is sent.", labels, registry=self.registry
        )

    def watch(self, subscribers: Subscribers) -> None:
        """Export metrics about the subscribers of live events."""
        self.registry.register(_SubscriberMetrics(subscribers))


def count_requests(app: ASGIApp, traffic_of: Callable[[Scope], Traffic]) -> ASGIApp:
    """Wrap the router and count every request, including those that match no route."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
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

        async def send_counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if _is_stream(message):
                    count()
            await send(message)

        try:
            await app(scope, receive, send_counted)
        finally:
            count()
        return None

    return serve


@dataclass(frozen=True)
class _SubscriberMetrics(Collector):
    """Metrics about live event streams, read when they are scraped."""

    subscribers: Subscribers

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        stats = self.subscribers.stats
        yield GaugeMetricFamily("assay_listeners", "Open streams of live events.", len(self.subscribers))
        yield CounterMetricFamily("assay_events_sent", "Live events sent, over all streams.", stats.events_sent)
        yield CounterMetricFamily(
            "assay_listeners_dropped", "Streams closed because the client did not keep up.", stats.subscribers_dropped
        )


def _is_stream(start: HTTPResponseStartEvent) -> bool:
    """Return whether the response is an event stream, which counts as answered when it starts."""
    return any(name.lower() == b"content-type" and value.decode() == EVENT_STREAM for name, value in start["headers"])
