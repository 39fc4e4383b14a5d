"""How many requests, how long: by route and known method, never by path, so that the number of series is bounded."""

from dataclasses import dataclass, field
from time import perf_counter

from litestar.enums import HttpMethod, ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector

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

    def counting(self, app: ASGIApp) -> ASGIApp:
        """Counts every request that passes; around the router, so that what no route answers counts too."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != ScopeType.HTTP:
                return await app(scope, receive, send)
            method = scope["method"] if scope["method"] in METHODS else "other"
            started, status = perf_counter(), 500

            async def noting(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            try:
                await app(scope, receive, noting)
            finally:
                route = scope.get("path_template") or "unknown"
                self.requests.labels(method, route, status).inc()
                self.seconds.labels(method, route).observe(perf_counter() - started)
            return None

        return counted
