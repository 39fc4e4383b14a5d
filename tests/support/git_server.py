"""A real git server on loopback: `git http-backend` behind a small HTTP server."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Intercept = Callable[[BaseHTTPRequestHandler], bool]
IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git with a fixed identity and no configuration; return its output."""
    environment = {**os.environ, **IDENTITY}
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, input=stdin, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@dataclass
class GitServer:
    """Repositories below a folder, served over HTTP."""

    root: Path
    port: int = 0
    requests: list[str] = field(default_factory=list)
    intercept: Intercept | None = None
    """Called before git; it has handled the request if it returns True."""

    @property
    def host(self) -> str:
        """The host as configured in settings."""
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.host}/{path}"

    def push(self, path: str, files: Mapping[str, str | bytes], links: Mapping[str, str] | None = None) -> str:
        """Commit files to the branch `trunk` of a repository; return the commit id."""
        bare = self.root / f"{path}.git"
        if not bare.exists():
            bare.mkdir(parents=True)
            git(bare, "init", "-q", "--bare", "--initial-branch=trunk", ".")
            git(bare, "config", "uploadpack.allowFilter", "true")
        lines = []
        for name, content in files.items():
            raw = content.encode() if isinstance(content, str) else content
            lines.append(("100644", git(bare, "hash-object", "-w", "--stdin", stdin=raw), name))
        for name, target in (links or {}).items():
            lines.append(("120000", git(bare, "hash-object", "-w", "--stdin", stdin=target.encode()), name))
        git(bare, "read-tree", "--empty")
        listed = "".join(f"{mode} {number}\t{name}\0" for mode, number, name in lines)
        git(bare, "update-index", "-z", "--index-info", stdin=listed.encode("utf-8", "surrogateescape"))
        commit = git(bare, "commit-tree", "-m", "Change", git(bare, "write-tree"))
        git(bare, "update-ref", "refs/heads/trunk", commit)
        return commit


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *arguments: Any) -> None:
        pass

    def _answer(self) -> None:
        known = self.server.known
        known.requests.append(f"{self.command} {self.path}")
        body = self._body()
        if known.intercept is not None and known.intercept(self):
            return
        path, _, query = self.path.partition("?")
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(known.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        done = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if line)
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        return b"".join(parts)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    known: GitServer


@contextmanager
def serve_git(root: Path) -> Iterator[GitServer]:
    """Serve repositories for the duration of the block."""
    listening = _Server(("127.0.0.1", 0), _Handler)
    listening.known = GitServer(root, listening.server_address[1])
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield listening.known
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()
