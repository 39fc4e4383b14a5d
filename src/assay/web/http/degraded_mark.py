"""The marks of a degraded answer: in its JSON, in its headers, on its page. Nobody may take it for the usual one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
from litestar import Response
from litestar.response import Template

from assay.serve.operations.edge_copy import Origin

HEADER = "X-Assay-Degraded"


@dataclass(frozen=True)
class Mark:
    """Where an answer comes from, until when that is complete, and what was asked for but not heeded."""

    origin: Origin
    as_of: datetime | None
    ignored: tuple[str, ...] = field(default=())

    @property
    def headers(self) -> dict[str, str]:
        """No cache keeps it."""
        return {HEADER: self.origin.value, "Cache-Control": "no-store"}

    def json(self, body: object, **headers: str) -> Response[dict[str, Any]]:
        """What the route usually answers, and the marks beside it."""
        marks: dict[str, Any] = {"degraded": True, "source": self.origin.value, "asOf": self.as_of}
        if self.ignored:
            marks["ignored"] = list(self.ignored)
        plain = msgspec.to_builtins(body, builtin_types=(datetime,))
        return Response({**plain, **marks}, headers=self.headers | headers)

    def page(self, template: str, context: Mapping[str, object]) -> Template:
        """A page that says so at its top."""
        return Template(template, context={**context, "degraded": self}, headers=self.headers)
