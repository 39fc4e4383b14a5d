"""10,000 malformed tokens, cookies, signatures and header combinations: no entry and no error of the server."""

import base64
import json
import random
import string
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import cycle
from typing import Any

import jwt
import pytest
from pydantic import SecretStr

from assay.accounts.sessions import SessionTokens
from assay.accounts.signed_claims import ISSUER, ClaimsPurpose
from assay.model.account import Scope
from assay.store.queue.pauses import read_pause
from assay.web.app import create_app
from tests.support.registry import SECRET, Registry
from tests.support.web.people import admin_signed_in, made_token, with_settings
from tests.support.web.raw import send_raw

pytestmark = pytest.mark.slow

Headers = list[tuple[bytes, bytes]]
Forger = Callable[[random.Random, str, SessionTokens], Headers]
REQUESTS, SEED = 10_000, 20_261_119
ODD_BYTES = [
    b"\x00",
    b"\x01",
    b"\xff",
    b"\xc3\x28",
    "ä".encode(),
    "\u202e".encode(),
    b"\t",
    b"%00",
    b"\\u0000",
    b'"',
    b";",
]
SCHEMES = [b"Bearer ", b"bearer ", b"BEARER  ", b"Bearer\t", b"Basic ", b"Token ", b"", b"Bearer", b"Bearer Bearer "]
ROUTES = [
    ("GET", "/api/v1/admin/audit", b""),
    ("GET", "/api/v1/admin/reviews", b""),
    ("GET", "/api/v1/account/tokens", b""),
    ("POST", "/api/v1/account/tokens", b'{"label": "forged"}'),
    ("POST", "/api/v1/admin/queue/pause", b'{"reason": "forged"}'),
    ("DELETE", "/api/v1/auth/sign-out-all", b""),
    ("POST", "/api/v1/webhooks/scan-results", b"{}"),
    ("POST", "/api/v1/webhooks/github", b"{}"),
    ("POST", "/auth/refresh", b""),
]
REFUSALS = {400, 401, 403}


def garbled(chance: random.Random, secret: bytes) -> bytes:
    """Return a value that is almost the secret, and never the secret itself."""
    place = chance.randrange(len(secret))
    ways = [
        secret[:place],
        secret[:place] + chance.choice(ODD_BYTES) + secret[place:],
        secret[:place] + chance.choice(ODD_BYTES) + secret[place + 1 :],
        secret[:place] + secret[place : place + 1].swapcase() + secret[place + 1 :] + b"x",
        secret + chance.choice(ODD_BYTES) + b"x",
        secret * chance.randint(2, 50),
        secret[::-1],
        chance.randbytes(chance.randint(0, 80)),
        "".join(chance.choices(string.ascii_letters + string.digits + "-_", k=len(secret))).encode(),
        b"x" * 100_000,
    ]
    return chance.choice(ways)


def token(chance: random.Random, good: str, _person: SessionTokens) -> Headers:
    rest = garbled(chance, good.removeprefix("vsk_").encode())
    prefix = b"vsk_" if chance.random() < 0.8 else chance.choice([b"VSK_", b"gho_", b"", b"vsk"])
    return [(b"authorization", chance.choice(SCHEMES) + prefix + rest)]


def cookie(chance: random.Random, name: bytes, secret: str) -> bytes:
    """Return a cookie that a browser or a server does not read as the secret."""
    value = garbled(chance, secret.encode())
    while value.strip(b'\t ";').partition(b";")[0] == secret.encode():
        value = garbled(chance, secret.encode())
    return name + b"=" + value


def session(chance: random.Random, _good: str, person: SessionTokens) -> Headers:
    return [(b"cookie", cookie(chance, b"assay_session", person.access_token)), (b"sec-fetch-site", b"same-origin")]


def refresh_token(chance: random.Random, _good: str, person: SessionTokens) -> Headers:
    return [(b"cookie", cookie(chance, b"assay_refresh", person.refresh_token)), (b"sec-fetch-site", b"same-origin")]


def part(value: object) -> bytes:
    """Return one part of a JWT."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def unsigned_jwt(chance: random.Random, _good: str, person: SessionTokens) -> Headers:
    """Return a session with a header, payload or signature that this registry never made."""
    claims = jwt.decode(person.access_token, options={"verify_signature": False})
    headers: list[object] = [
        {"alg": "none"}, {"alg": "None", "typ": "JWT"}, {"alg": ""}, {"alg": None}, {"alg": ["HS256"]}, {}, [], "HS256", 7,
        {"alg": "HS256", "crit": ["exp"]}, {"alg": "HS256", "kid": "../../dev/null"}, {"alg": "HS256", "jwk": {}},
        b"[" * 3000, b'{"alg":' * 2000, b"\xff\xfe", b"", {"alg": "RS256"}, {"alg": "HS256", "b64": False},
    ]  # fmt: skip
    payloads: list[object] = [
        claims,
        {**claims, "role": "SUPER_ADMIN", "exp": 10**20},
        [],
        "x",
        b"[" * 3000,
        b"\x00",
        b"{",
    ]
    signature = chance.choice(
        [b"", b"AAAA", b"=", part(chance.randbytes(32)), person.access_token.rpartition(".")[2].encode()]
    )
    head, payload = chance.choice(headers), chance.choice(payloads)
    parts = [part(head), part(payload), signature]
    if head == {"alg": "HS256"} and payload == claims:
        parts[2] = b""
    value = b".".join(parts[: chance.choice([1, 2, 3, 3, 3, 3])]) + chance.choice([b"", b"", b".", b"..x"])
    return [(b"cookie", b"assay_session=" + value), (b"sec-fetch-site", b"same-origin")]


def signed_jwt(chance: random.Random, _good: str, person: SessionTokens) -> Headers:
    """Return a session that is signed with another secret or algorithm, or not for a session."""
    claims = jwt.decode(person.access_token, options={"verify_signature": False})
    now = int(datetime.now(UTC).timestamp())
    odd: list[dict[str, Any]] = [
        {"aud": ClaimsPurpose.GITHUB}, {"iss": "x"}, {"iat": now + 9999}, {"exp": str(now)}, {"exp": 1e308}, {"exp": -1},
        {"sub": 7}, {"sub": "x"}, {"sid": None}, {"role": "ROOT"}, {"role": 1}, {"login": None}, {"iat": None}, {"aud": []},
    ]  # fmt: skip
    if chance.random() < 0.5:
        forged = jwt.encode({**claims, **chance.choice(odd)}, SECRET, algorithm="HS256")
    else:
        secret = chance.choice([SECRET * 2, SECRET * 2 + "x", "x" * 64])
        forged = jwt.encode({**claims, "iss": ISSUER}, secret, algorithm=chance.choice(["HS256", "HS384", "HS512"]))
    return [(b"cookie", b"assay_session=" + forged.encode()), (b"sec-fetch-site", b"same-origin")]


def key(chance: random.Random, _good: str, _person: SessionTokens) -> Headers:
    return [(b"x-internal-key", garbled(chance, SECRET.encode()))]


def signature(chance: random.Random, _good: str, _person: SessionTokens) -> Headers:
    """Return the headers of a webhook with a wrong signature or a strange time."""
    moments = [
        b"",
        b"0",
        b"-1",
        b"1e9",
        b"9" * 400,
        b"\xd9\xa1",
        b"nan",
        str(int(datetime.now(UTC).timestamp())).encode(),
    ]
    value = chance.choice([b"sha256=", b"SHA256=", b"sha1=", b"", b"sha256"]) + garbled(chance, b"0123456789abcdef" * 4)
    return [
        (b"x-webhook-timestamp", chance.choice(moments)),
        (b"x-webhook-signature", value),
        (b"x-hub-signature-256", value),
        (b"x-github-event", chance.choice([b"push", b"", *ODD_BYTES])),
        (b"x-github-delivery", chance.choice([b"1", b"", *ODD_BYTES])),
    ]


def combination(chance: random.Random, good: str, person: SessionTokens) -> Headers:
    """Return several forged credentials in one request, some of them twice."""
    forgers = chance.sample([token, session, refresh_token, unsigned_jwt, signed_jwt, key, signature], 3)
    headers = [line for forger in forgers for line in forger(chance, good, person)]
    headers += chance.sample(headers, chance.randint(0, len(headers)))
    chance.shuffle(headers)
    return headers


def valid_beside_a_wrong_key(chance: random.Random, good: str, person: SessionTokens) -> Headers:
    """Return valid credentials that a wrong key makes invalid: the strongest claim of a request must be true."""
    valid = [
        (b"authorization", b"Bearer " + good.encode()),
        (b"cookie", b"assay_session=" + person.access_token.encode()),
    ]
    return [*key(chance, good, person), chance.choice(valid), (b"sec-fetch-site", b"same-origin")]


FORGERS: list[Forger] = [
    token,
    session,
    refresh_token,
    unsigned_jwt,
    signed_jwt,
    key,
    signature,
    combination,
    valid_beside_a_wrong_key,
]


async def test_forged_credentials_open_nothing(registry: Registry) -> None:
    """G77, G78, G82, G83: whatever a request carries, it is refused, and the server does not fail."""
    app = with_settings(registry.app, github_webhook_secret=SecretStr(SECRET))
    person = await admin_signed_in(app)
    good = await made_token(app, person, Scope)
    # A wrong refresh token ends its session, so the forgeries are of another one.
    forged = replace(person, refresh_token=(await admin_signed_in(app)).refresh_token)
    served, chance, wrong = create_app(app), random.Random(SEED), []
    statuses: Counter[int] = Counter()
    for number, forger in zip(range(REQUESTS), cycle(FORGERS), strict=False):
        method, path, body = ROUTES[number // len(FORGERS) % len(ROUTES)]
        headers = [*forger(chance, good, forged), (b"content-type", b"application/json")]
        address = (f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", 1)
        answer = await send_raw(served, method, path, headers, body, address=address)
        statuses[answer.status] += 1
        if answer.status not in REFUSALS:
            wrong.append((forger.__name__, method, path, answer.status, headers, answer.body[:200]))
    assert wrong == [], wrong[:5]
    assert set(statuses) == REFUSALS
    async with app.store.begin() as db:
        assert await read_pause(db) is None
        assert (await db.exec_driver_sql("SELECT count(*) FROM account_token")).scalar_one() == 1
    for sent in (
        (b"authorization", b"Bearer " + good.encode()),
        (b"cookie", b"assay_session=" + person.access_token.encode()),
    ):
        assert (await send_raw(served, "GET", "/api/v1/admin/audit", [sent])).status == 200


@pytest.mark.parametrize("path", ["/", "/skills", "/api/v1/skills", "/auth/me", "/healthz", "/sign-in"])
async def test_forged_credentials_do_not_break_public_reads(registry: Registry, path: str) -> None:
    """They are ignored, so that a stale cookie or an expired token never locks anyone out of reading."""
    person = await admin_signed_in(registry.app)
    good, chance = await made_token(registry.app, person, Scope), random.Random(SEED)
    served = create_app(registry.app)
    for forger in (*FORGERS[:-1], *FORGERS[:-1], *FORGERS[:-1]):
        answer = await send_raw(served, "GET", path, forger(chance, good, person))
        assert answer.status == 200, (forger.__name__, answer.body[:200])
