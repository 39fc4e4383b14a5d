"""A scripted server in place of a registry: old, slow, failing or hostile."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class ScriptedResponse:
    """A response; text is sent verbatim, anything else as JSON."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ScriptedRequest:
    """A received request."""

    method: str
    path: str
    query: dict[str, list[str]]
    body: bytes
    key: str | None
    authorization: str | None
    cookie: str | None
    site: str | None


class Script:
    """Responses by method and path, in turn; the last one repeats, and unknown paths return 404."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[ScriptedRequest] = []
        self._answers: dict[str, list[ScriptedResponse]] = {}
        self._lock = threading.Lock()

    def answers(self, route: str, *said: ScriptedResponse) -> None:
        """Set the responses of a route such as `GET /path`."""
        self._answers[route] = list(said)

    def asked_for(self, path: str) -> list[ScriptedRequest]:
        """Return the requests for a path."""
        return [each for each in self.asked if each.path == path]

    def take(self, asked: ScriptedRequest) -> ScriptedResponse:
        """Return the next response."""
        with self._lock:
            self.asked.append(asked)
            waiting = self._answers.get(f"{asked.method} {asked.path}", [])
            if len(waiting) > 1:
                return waiting.pop(0)
            return waiting[0] if waiting else a_problem(404, "not_found", f"There is nothing at {asked.path}.")


def a_problem(status: int, code: str, detail: str, **headers: str) -> ScriptedResponse:
    """Return a problem response."""
    return ScriptedResponse({"status": status, "code": code, "detail": detail}, status, headers)


@contextmanager
def a_script() -> Iterator[Script]:
    """Serve the script on loopback for the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    script = Script(f"http://127.0.0.1:{server.server_address[1]}")
    server.script = script  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        proofs = map(self.headers.get, ("X-Internal-Key", "Authorization", "Cookie", "Sec-Fetch-Site"))
        said = self.server.script.take(ScriptedRequest(self.command, parts.path, parse_qs(parts.query), body, *proofs))
        content = said.body.encode() if isinstance(said.body, str) else json.dumps(said.body).encode()
        self.send_response(said.status)
        for name, value in {"Content-Length": str(len(content)), **said.headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *_args: object) -> None:
        pass
