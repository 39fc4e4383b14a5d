"""A client of any endpoint that speaks OpenAI's chat completions: one question, one checked answer."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec

from assay.llm.breaker import Breaker
from assay.llm.prices import Prices, tokens_of
from assay.model.errors import ScannerError
from assay.model.judgement import Usage

LARGEST_ANSWER_BYTES = 4 * 1024 * 1024
LONGEST_PAUSE_SECONDS = 3600.0
# An outage of a moment is not worth putting a submission back for.
TRIES = 2
TRANSIENT = frozenset({408, 409, 425, 500, 502, 503, 504, 529})
LONGEST_MODEL_NAME = 200


@dataclass(frozen=True)
class Endpoint:
    """Where the model is and how it is paid for. It never shows its key."""

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 60.0
    prices: Prices = field(default_factory=Prices)


@dataclass(frozen=True, slots=True)
class Question:
    """What the model is asked. Only our own words are in the role of the system."""

    system: str
    user: str
    schema_name: str
    schema: Mapping[str, Any]
    longest_answer_tokens: int

    @property
    def prompt_tokens(self) -> int:
        """About how many tokens it is, rather too many than too few."""
        return tokens_of(self.system) + tokens_of(self.user) + tokens_of(msgspec.json.encode(self.schema).decode())


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. Nothing says yet that the text is what was asked for."""

    text: str
    model: str
    usage: Usage
    is_whole: bool


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    # Read by hand: some endpoints say nothing here, or nonsense, which is no reason to throw an answer away.
    usage: Any = None


@dataclass
class ModelClient:
    """One for each process: the connections, the breaker and the turns are shared by all who ask."""

    session: aiohttp.ClientSession
    endpoint: Endpoint
    breaker: Breaker
    turns: asyncio.Semaphore
    retry_pause_seconds: float = 1.0

    def most(self, question: Question) -> Usage:
        """The most that a question can cost, all tries included."""
        usage = self.endpoint.prices.usage(question.prompt_tokens, question.longest_answer_tokens)
        return Usage(usage.prompt_tokens, usage.completion_tokens, usage.cost_micros * TRIES)

    async def ask(self, question: Question) -> Reply:
        """The answer. Raises ScannerError, which says nothing about what was asked."""
        async with self.turns:
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
            "max_tokens": question.longest_answer_tokens,
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
                # The key goes where the settings say, and nowhere else.
                allow_redirects=False,
            ) as response:
                if response.status != 200:
                    raise _refused(response)
                content = await _read(response)
        except TimeoutError:
            slow = f"The model does not answer within {self.endpoint.timeout_seconds:g} s."
            raise ScannerError(slow, code="llm_timed_out") from None
        except aiohttp.ClientError as problem:
            raise _unreachable(type(problem).__name__) from problem
        return self._reply(content, question)

    def _reply(self, content: bytes, question: Question) -> Reply:
        try:
            said = msgspec.json.decode(content, type=_Completion)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise _babble("it does not speak the protocol") from None
        if not said.choices:
            raise _babble("it gave no answer")
        choice = said.choices[0]
        text = choice.message.content or ""
        model = "".join(each for each in said.model or "" if each.isprintable())[:LONGEST_MODEL_NAME]
        return Reply(
            text=text,
            model=model or self.endpoint.model,
            usage=self._usage(said.usage, question, text),
            # Some say nothing about how it ended; then the text itself must show that it is whole.
            is_whole=choice.finish_reason in (None, "stop") and not choice.message.refusal,
        )

    def _usage(self, told: object, question: Question, text: str) -> Usage:
        """As the endpoint says, if that can be; else as many tokens as it may have been."""
        names = ("prompt_tokens", "completion_tokens")
        numbers: list[Any] = [told.get(name) for name in names] if isinstance(told, dict) else []
        if len(numbers) == 2 and all(type(number) is int and number >= 0 for number in numbers) and any(numbers):
            # Nobody pays for more tokens than can have been sent and allowed.
            prompt = min(numbers[0], 4 * question.prompt_tokens)
            return self.endpoint.prices.usage(prompt, min(numbers[1], 4 * question.longest_answer_tokens))
        return self.endpoint.prices.usage(question.prompt_tokens, tokens_of(text), is_estimated=True)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_chunked(65_536):
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER_BYTES:
            raise _babble("its answer has no end")
    return b"".join(parts)


def _refused(response: aiohttp.ClientResponse) -> ScannerError:
    """What a status means. The body is not repeated: it may quote what was asked, or the key."""
    match response.status:
        case 429:
            return ScannerError(
                "The model's rate limit is used up.",
                code="llm_rate_limited",
                retry_after_seconds=_pause(response.headers.get("Retry-After", "")),
            )
        case 401 | 403:
            return ScannerError("The model endpoint refuses our key.", code="llm_bad_key")
        case status if status in TRANSIENT:
            return _unreachable(f"status {status}")
        case status:
            message = f"The model endpoint does not take our question: status {status}. Check its URL and model."
            return ScannerError(message, code="llm_bad_request")


def _pause(said: str) -> float:
    return min(float(said), LONGEST_PAUSE_SECONDS) if said.isdecimal() else 30.0


def _unreachable(why: str) -> ScannerError:
    return ScannerError(f"The model does not answer: {why}.", code="llm_unreachable")


def _babble(why: str) -> ScannerError:
    return ScannerError(f"The model endpoint answers something else: {why}.", code="llm_bad_answer")
