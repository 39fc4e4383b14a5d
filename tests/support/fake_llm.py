"""A fake model endpoint on loopback with scripted behaviour: correct, wrong, slow, hostile, or unavailable."""

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
# Text that this model reports as malicious.
BAD = re.compile(r"\.ssh|\.aws|\.env file|home folder|EVIL")


@dataclass
class Answer:
    """A response and its delay."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0
    hang_up: bool = False


@dataclass(frozen=True)
class ModelRequest:
    """A request as received by the endpoint."""

    body: dict[str, Any]
    authorization: str | None
    # The ruling on every question.
    ruling: str = "refuted"

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        return str(self.body["messages"][1]["content"])

    @property
    def pass_name(self) -> str:
        return str(self.body["response_format"]["json_schema"]["name"])

    @property
    def kinds(self) -> list[str]:
        """The finding kinds of this pass."""
        schema = self.body["response_format"]["json_schema"]["schema"]
        return list(schema["properties"]["findings"]["items"]["properties"]["kind"]["enum"])

    @property
    def parts(self) -> list[tuple[int, str, str, str]]:
        """Number, file, text and receipt of each part of the prompt."""
        return [
            (int(n), json.loads(name), text, receipt) for _, n, name, _, _, text, receipt in PART.findall(self.user)
        ]

    def correct_answer(self) -> dict[str, Any]:
        """Return the answer of a model that follows the prompt."""
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


Behaviour = Callable[[ModelRequest], Answer]


def respond_correctly(request: ModelRequest) -> Answer:
    return completion(request.correct_answer())


def completion(answer: object, *, model: str = "fake-1-2026", usage: object = None, **more: Any) -> Answer:
    """Wrap an answer in a chat completion response."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    reported = {"prompt_tokens": 1000, "completion_tokens": 100} if usage is None else usage
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", **more}
    return Answer(json.dumps({"model": model, "choices": [choice], "usage": reported}).encode())


@dataclass
class FakeModel:
    """Behaviour and requests of the endpoint. `next_behaviours` apply to the next calls, before `behave`."""

    behave: Behaviour = respond_correctly
    next_behaviours: list[Behaviour] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)
    url: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def settings(self) -> dict[str, str]:
        """Return the settings that make a registry use this model."""
        return {"ASSAY_LLM_URL": self.url, "ASSAY_LLM_MODEL": "fake-1", "ASSAY_LLM_API_KEY": "key-of-the-fake"}

    def answer(self, request: ModelRequest) -> Answer:
        with self._lock:
            self.requests.append(request)
            behave = self.next_behaviours.pop(0) if self.next_behaviours else self.behave
        return behave(request)


@contextmanager
def serve_model(model: FakeModel) -> Iterator[FakeModel]:
    """Serve the model on loopback for the duration of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = model.answer(ModelRequest(body, self.headers.get("Authorization")))
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
            pass

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
