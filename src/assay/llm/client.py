"""Client of endpoints with OpenAI's chat completions API."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec

from assay.llm.breaker import ModelBreaker
from assay.llm.prices import Prices, tokens_of
from assay.model.errors import ScannerError
from assay.model.verdict import Usage

MAX_ANSWER_BYTES = 4 * 1024 * 1024
MAX_PAUSE_SECONDS = 3600.0
# A short outage should not postpone a submission.
TRIES = 2
TRANSIENT = frozenset({408, 409, 425, 500, 502, 503, 504, 529})
MAX_MODEL_NAME_LENGTH = 200


@dataclass(frozen=True)
class Endpoint:
    """URL, model, key and prices of an endpoint. The key is not part of its repr."""

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 60.0
    prices: Prices = field(default_factory=Prices)


@dataclass(frozen=True, slots=True)
class Question:
    """One question to the model. Untrusted text is only in `user`, not in `system`."""

    system: str
    user: str
    schema_name: str
    schema: Mapping[str, Any]
    max_answer_tokens: int

    @property
    def prompt_tokens(self) -> int:
        """The estimated number of tokens, rather too high than too low."""
        return tokens_of(self.system) + tokens_of(self.user) + tokens_of(msgspec.json.encode(self.schema).decode())


@dataclass(frozen=True, slots=True)
class Reply:
    """The unchecked response of the model."""

    text: str
    model: str
    usage: Usage
    is_whole: bool


class _ChatMessage(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _ChatMessage
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    # Parsed leniently: missing or wrong numbers do not invalidate an answer.
    usage: Any = None


@dataclass
class ModelClient:
    """A client with a circuit breaker and limited concurrency; one per process."""

    session: aiohttp.ClientSession
    endpoint: Endpoint
    breaker: ModelBreaker
    slots: asyncio.Semaphore
    retry_pause_seconds: float = 1.0

    def max_usage(self, question: Question) -> Usage:
        """Return the maximum usage of a question, including retries."""
        usage = self.endpoint.prices.usage(question.prompt_tokens, question.max_answer_tokens)
        return Usage(usage.prompt_tokens, usage.completion_tokens, usage.cost_micros * TRIES)

    async def ask(self, question: Question) -> Reply:
        """Ask the model, with retries. Raises ScannerError."""
        async with self.slots:
            for attempt in range(1, TRIES + 1):
                self.breaker.enter()
                try:
                    reply = await self._ask(question)
                except ScannerError as problem:
                    self.breaker.fail()
                    if attempt == TRIES or problem.code != "llm_unreachable":
                        raise
                    await asyncio.sleep(self.retry_pause_seconds * random.uniform(0.5, 1.5))  # noqa: S311
                except BaseException:
                    self.breaker.leave()
                    raise
                else:
                    self.breaker.succeed()
                    return reply
        raise AssertionError("Every try returns or raises.")

    async def _ask(self, question: Question) -> Reply:
        headers = {"Authorization": f"Bearer {self.endpoint.api_key}"} if self.endpoint.api_key else {}
        body = {
            "model": self.endpoint.model,
            "messages": [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.user},
            ],
            "temperature": 0,
            "max_tokens": question.max_answer_tokens,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": question.schema_name, "strict": True, "schema": dict(question.schema)},
            },
        }
        timeout = aiohttp.ClientTimeout(total=self.endpoint.timeout_seconds)
        try:
            async with self.session.post(
                f"{self.endpoint.url.rstrip('/')}/chat/completions",
                data=msgspec.json.encode(body),
                headers={**headers, "Content-Type": "application/json", "Accept": "application/json"},
                timeout=timeout,
                # The key must only be sent to the configured URL.
                allow_redirects=False,
            ) as response:
                if response.status != 200:
                    raise _status_error(response)
                content = await _read(response)
        except TimeoutError:
            slow = f"The model did not respond within {self.endpoint.timeout_seconds:g} s."
            raise ScannerError(slow, code="llm_timed_out") from None
        except aiohttp.ClientError as error:
            raise _unreachable(type(error).__name__) from error
        return self._reply(content, question)

    def _reply(self, content: bytes, question: Question) -> Reply:
        try:
            completion = msgspec.json.decode(content, type=_Completion)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise _bad_answer("not a chat completion") from None
        if not completion.choices:
            raise _bad_answer("no choices")
        choice = completion.choices[0]
        text = choice.message.content or ""
        model = "".join(each for each in completion.model or "" if each.isprintable())[:MAX_MODEL_NAME_LENGTH]
        return Reply(
            text=text,
            model=model or self.endpoint.model,
            usage=self._usage(completion.usage, question, text),
            # Some endpoints omit the finish reason; then parsing the text shows whether it is complete.
            is_whole=choice.finish_reason in (None, "stop") and not choice.message.refusal,
        )

    def _usage(self, reported: object, question: Question, text: str) -> Usage:
        """Return the reported usage if it is plausible, else an estimate."""
        names = ("prompt_tokens", "completion_tokens")
        numbers: list[Any] = [reported.get(name) for name in names] if isinstance(reported, dict) else []
        if len(numbers) == 2 and all(type(number) is int and number >= 0 for number in numbers) and any(numbers):
            # Cap the numbers: no more tokens can have been sent or generated.
            prompt = min(numbers[0], 4 * question.prompt_tokens)
            return self.endpoint.prices.usage(prompt, min(numbers[1], 4 * question.max_answer_tokens))
        return self.endpoint.prices.usage(question.prompt_tokens, tokens_of(text), is_estimated=True)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_chunked(65_536):
        parts.append(part)
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            raise _bad_answer("the response is too large")
    return b"".join(parts)


def _status_error(response: aiohttp.ClientResponse) -> ScannerError:
    """Return the error for a status. The body is left out: it may quote the prompt or the key."""
    match response.status:
        case 429:
            return ScannerError(
                "The rate limit of the model endpoint is exhausted.",
                code="llm_rate_limited",
                retry_after_seconds=_retry_after(response.headers.get("Retry-After", "")),
            )
        case 401 | 403:
            return ScannerError("The model endpoint rejected the API key.", code="llm_bad_key")
        case status if status in TRANSIENT:
            return _unreachable(f"status {status}")
        case status:
            message = f"The model endpoint rejected the request with status {status}. Check its URL and model."
            return ScannerError(message, code="llm_bad_request")


def _retry_after(header: str) -> float:
    return min(float(header), MAX_PAUSE_SECONDS) if header.isdecimal() else 30.0


def _unreachable(why: str) -> ScannerError:
    return ScannerError(f"The model endpoint is unreachable: {why}.", code="llm_unreachable")


def _bad_answer(why: str) -> ScannerError:
    return ScannerError(f"The model endpoint returned an invalid response: {why}.", code="llm_bad_answer")
