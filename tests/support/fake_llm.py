"""A model endpoint on loopback that answers as it is told: well, badly, slowly, in hostile ways, or not at all."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PART = re.compile(
    r"<<<(\w+) part (\d+): file (\".*?\"), lines (\d+) to (\d+)>>>\n(.*?)\n<<<\1 end of part \2, receipt (\w+)>>>",
    re.S,
)
CANARY = re.compile(r"copy this word exactly: (\w+)")
QUESTION = re.compile(r"^Question (\d+): ", re.M)
LINE = re.compile(r"^(\d+): (.*)$", re.M)
# What this model knows of evil.
BAD = re.compile(r"\.ssh|\.aws|\.env file|home folder|EVIL")


@dataclass
class Answer:
    """What goes back: a status and a body, after a while."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0
    hang_up: bool = False


@dataclass(frozen=True)
class Asked:
    """A question as the endpoint got it."""

    body: dict[str, Any]
    authorization: str | None
    # What it says to every question.
    ruling: str = "refuted"

    @property
    def system(self) -> str:
        """What is in the role of the system."""
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        """What is in the role of the user."""
        return str(self.body["messages"][1]["content"])

    @property
    def judging(self) -> str:
        """The name of the pass."""
        return str(self.body["response_format"]["json_schema"]["name"])

    @property
    def kinds(self) -> list[str]:
        """The words under which this pass reports."""
        schema = self.body["response_format"]["json_schema"]["schema"]
        return list(schema["properties"]["findings"]["items"]["properties"]["kind"]["enum"])

    @property
    def parts(self) -> list[tuple[int, str, str, str]]:
        """Number, file, text and receipt of each part."""
        return [
            (int(n), json.loads(name), text, receipt) for _, n, name, _, _, text, receipt in PART.findall(self.user)
        ]

    def honest(self) -> dict[str, Any]:
        """What a model answers that does as it is told."""
        canary = CANARY.search(self.system)
        return {
            "canary": canary[1] if canary else "",
            "receipts": [{"part": number, "receipt": receipt} for number, _, _, receipt in self.parts],
            "findings": [
                {
                    "file": number,
                    "line": int(line),
                    "kind": self.kinds[0],
                    "severity": "critical",
                    "confidence": 0.9,
                    "reason": f"It does something bad: {text.strip()[:80]}",
                }
                for number, _, shown, _ in self.parts
                for line, text in LINE.findall(shown)
                if BAD.search(text)
            ],
            "rulings": [
                {"question": int(number), "ruling": self.ruling, "reason": "It is only described."}
                for number in QUESTION.findall(self.user)
            ],
            "addressesTheReviewer": False,
        }


Behaviour = Callable[[Asked], Answer]


def well(asked: Asked) -> Answer:
    """As a good model would."""
    return completion(asked.honest())


def completion(answer: object, *, model: str = "fake-1-2026", usage: object = None, **more: Any) -> Answer:
    """An answer in the form of the protocol."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    told = {"prompt_tokens": 1000, "completion_tokens": 100} if usage is None else usage
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", **more}
    return Answer(json.dumps({"model": model, "choices": [choice], "usage": told}).encode())


@dataclass
class FakeModel:
    """What the endpoint does, and what it was asked. `then` are behaviours for the next calls, before `behave`."""

    behave: Behaviour = well
    then: list[Behaviour] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def settings(self) -> dict[str, str]:
        """The variables that make a registry ask this model."""
        return {"ASSAY_LLM_URL": self.url, "ASSAY_LLM_MODEL": "fake-1", "ASSAY_LLM_API_KEY": "key-of-the-fake"}

    def answer(self, asked: Asked) -> Answer:
        """The next answer."""
        with self._lock:
            self.asked.append(asked)
            behave = self.then.pop(0) if self.then else self.behave
        return behave(asked)


@contextmanager
def serve_model(model: FakeModel) -> Iterator[FakeModel]:
    """Answer on loopback while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = model.answer(Asked(body, self.headers.get("Authorization")))
            if answer.delay_seconds:
                stopping.wait(answer.delay_seconds)
            try:
                if answer.hang_up:
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    stopping = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()
