"""Web requests beyond GitHub cannot reach private addresses."""

import pytest
from aiohttp import web

from assay.discover.web import LARGEST_RESPONSE_BYTES, PublicResolver, Web, open_web
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
async def test_only_public_https_is_fetched(url: str, code: str) -> None:
    """G16: literals, names and unusual notations of private addresses."""
    async with open_web(allow_private=False) as outside:
        with pytest.raises(Invalid) as refused:
            await outside.get_bytes(url)
    assert code == refused.value.code
    assert "secret" not in refused.value.message


async def test_redirect_to_a_private_address_is_rejected() -> None:
    async with open_web(allow_private=True) as free, serving({"/x": _to("http://127.0.0.1:1/")}) as url:
        with pytest.raises(Unavailable):
            await free.get_bytes(f"{url}/x")
        checked = Web(free.session, allow_private=False)
        with pytest.raises(Invalid):
            # The first URL is checked separately, so only redirects are tested here.
            await checked._follow(type(free._checked(url))(f"{url}/x"), "*/*")


async def test_name_resolving_to_a_private_address_is_rejected() -> None:
    """the address is checked when connecting."""
    with pytest.raises(OSError, match="not public"):
        await PublicResolver().resolve("localhost", 443)


async def test_responses_are_bounded_and_typed() -> None:
    """G36: not found, rate limited, too long and invalid are distinct."""
    routes = {
        "/wait": lambda _: web.Response(status=429, headers={"Retry-After": "7"}),
        "/long": lambda _: web.Response(body=b"x" * (LARGEST_RESPONSE_BYTES + 1)),
        "/odd": lambda _: web.Response(text="<html>"),
        "/circle": _to("/circle"),
    }
    async with open_web(allow_private=True) as outside, serving(routes) as url:
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
