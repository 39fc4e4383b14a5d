"""Password guessing is throttled and reveals nothing by its timing."""

import asyncio
import hashlib

import pytest

from assay.accounts.admins import create_admin
from assay.accounts.passwords import hash_password
from assay.accounts.rate_limit import WINDOW_SECONDS, throttle_sign_in
from assay.app.app import App
from assay.settings import Settings
from assay.web.http.limits import sign_in_limits
from tests.support.web.people import PASSWORD, MovableTime, a_browser, audit_of, sign_in, signed_in

LIMITS = sign_in_limits(Settings.from_mapping({}))
MAX_PER_LOGIN, MAX_PER_ADDRESS = LIMITS.per_login, LIMITS.per_address


async def test_password_guessing_is_throttled(app: App, time: MovableTime) -> None:
    """After some failures even the right password has to wait, at this address only."""
    async with a_browser(app) as browser:
        for _ in range(MAX_PER_LOGIN):
            wrong = await sign_in(browser, password="not the password")
            assert (wrong.status_code, "Login or password is wrong." in wrong.text) == (401, True)
        throttled = await sign_in(browser)
        assert (throttled.status_code, "Too many attempts to sign in" in throttled.text) == (429, True)
        assert 0 < int(throttled.headers["retry-after"]) <= WINDOW_SECONDS
        problem = await browser.post(
            "/auth/sign-in", json={"login": "ROOT", "password": PASSWORD}, headers={"accept": "*/*"}
        )
        assert (problem.status_code, problem.json()["code"]) == (429, "too_many_attempts")
        async with a_browser(app, address=("192.0.2.7", 1)) as other:
            assert (await sign_in(other)).status_code == 303
        time.pass_by(int(throttled.headers["retry-after"]))
        assert (await sign_in(browser)).status_code == 303
    assert len(await audit_of(app, "sign_in_failed")) == MAX_PER_LOGIN


async def test_concurrent_guesses_are_all_counted(app: App) -> None:
    """An attempt is counted before the password is checked."""
    async with a_browser(app) as browser:
        answers = await asyncio.gather(*(sign_in(browser, password=f"guess number {each}") for each in range(20)))
    codes = [answer.status_code for answer in answers]
    assert (codes.count(401), codes.count(429)) == (MAX_PER_LOGIN, 20 - MAX_PER_LOGIN)


async def test_guessing_many_logins_is_throttled(app: App, time: MovableTime) -> None:
    """Addresses have their own limit, IPv6 by network, until the window ends."""
    for each in range(MAX_PER_ADDRESS):
        await throttle_sign_in(app.store, f"root{each}", "2001:db8::1", LIMITS, app.clock.now())
    async with a_browser(app, address=("2001:db8::2", 1)) as same, a_browser(app, address=("2001:db8:1::", 1)) as other:
        assert (await sign_in(same)).status_code == 429
        assert (await sign_in(other)).status_code == 303
    time.pass_by(WINDOW_SECONDS)
    async with a_browser(app, address=("2001:db8::2", 1)) as browser:
        assert (await sign_in(browser)).status_code == 303


async def test_successful_sign_in_clears_failures(app: App) -> None:
    async with a_browser(app) as browser:
        for _ in range(3):
            for _ in range(MAX_PER_LOGIN - 1):
                assert (await sign_in(browser, password="not the password")).status_code == 401
            assert (await sign_in(browser)).status_code == 303


async def test_unknown_login_takes_as_long_as_a_wrong_password(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt derives one key of the same cost."""
    derived: list[tuple[int, int, int]] = []
    scrypt = hashlib.scrypt

    def counting(password: bytes, **cost: int) -> bytes:
        derived.append((cost["n"], cost["r"], cost["p"]))
        return scrypt(password, **{**cost, "n": 2, "r": 1, "p": 1})

    monkeypatch.setattr(hashlib, "scrypt", counting)
    await an_usual_admin(app)
    derived.clear()
    async with a_browser(app) as browser:
        for login in ("usual", "nobody", "alice"):
            assert (await sign_in(browser, login, "not the password")).status_code == 401
    assert derived == [(2**15, 8, 3)] * 3


async def an_usual_admin(app: App) -> None:
    """Return an administrator with a password hashed at the usual cost, and a GitHub account without a password."""
    async with app.store.begin() as db:
        await create_admin(db, "usual", hash_password(PASSWORD))
    await signed_in(app, "alice")
