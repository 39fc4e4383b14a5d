"""The web beyond GitHub: nothing that others name leads to where only we can go."""

import pytest
from aiohttp import web

from assay.discover.web import LARGEST_ANSWER_BYTES, PublicResolver, Web, open_web
from assay.model.errors import Invalid, NotFound, RateLimited, Unavailable
from tests.support.discover.loopback import serving


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://example.com/", "bad_url"),
        ("https://example.com:8443/", "bad_url"),
        ("https://user:secret@example.com/", "bad_url"),
        ("file:///etc/passwd", "bad_url"),
        ("ftp://example.com/", "bad_url"),
        ("https:///nowhere", "bad_url"),
        ("https://exa\nmple.com/", "bad_url"),
        ("https://127.0.0.1/", "private_address"),
        ("https://10.1.2.3/", "private_address"),
        ("https://169.254.169.254/latest/meta-data/", "private_address"),
        ("https://[::1]/", "private_address"),
        ("https://[::ffff:127.0.0.1]/", "private_address"),
        ("https://[64:ff9b::7f00:1]/", "private_address"),
        ("https://[fd00::1]/", "private_address"),
        ("https://localhost/", "private_address"),
        ("https://127.1/", "bad_url"),
        ("https://2130706433/", "bad_url"),
        ("https://0x7f000001/", "private_address"),
    ],
)
async def test_only_public_https_is_read(url: str, code: str) -> None:
    """G16: literals, names and odd spellings of private addresses are refused before anything is sent."""
    async with open_web(anywhere=False) as outside:
        with pytest.raises(Invalid) as refused:
            await outside.get_bytes(url)
    assert code == refused.value.code
    assert "secret" not in refused.value.message


async def test_a_redirect_is_checked_like_the_first_address() -> None:
    """A public address that sends us to a private one sends us nowhere."""
    async with open_web(anywhere=True) as free, serving({"/x": _to("http://127.0.0.1:1/")}) as url:
        with pytest.raises(Unavailable):
            await free.get_bytes(f"{url}/x")
        checked = Web(free.session, anywhere=False)
        with pytest.raises(Invalid):
            # The first address is checked, too; so only what comes after it is tried here.
            await checked._follow(type(free._checked(url))(f"{url}/x"), "*/*")


async def test_a_name_that_leads_to_a_private_address_is_refused_when_it_is_connected_to() -> None:
    """What a name means is decided once, where the connection is made."""
    with pytest.raises(OSError, match="public address"):
        await PublicResolver().resolve("localhost", 443)


async def test_answers_are_bounded_and_typed() -> None:
    """G36: not there, told to wait, too long and not understood are four different things."""
    routes = {
        "/wait": lambda _: web.Response(status=429, headers={"Retry-After": "7"}),
        "/long": lambda _: web.Response(body=b"x" * (LARGEST_ANSWER_BYTES + 1)),
        "/odd": lambda _: web.Response(text="<html>"),
        "/circle": _to("/circle"),
    }
    async with open_web(anywhere=True) as outside, serving(routes) as url:
        with pytest.raises(NotFound):
            await outside.get_bytes(f"{url}/gone")
        with pytest.raises(RateLimited) as told:
            await outside.get_bytes(f"{url}/wait")
        assert 7 == told.value.retry_after_seconds
        for path, code in (("/long", "too_large"), ("/circle", "web_unavailable")):
            with pytest.raises(Unavailable) as problem:
                await outside.get_bytes(url + path)
            assert code == problem.value.code
        with pytest.raises(Unavailable) as problem:
            await outside.get_json(f"{url}/odd", dict)
        assert "bad_answer" == problem.value.code


def _to(location: str):
    return lambda _: web.Response(status=302, headers={"Location": location})
