"""Pages with a filter form: browsers also send the fields that were left empty."""

import pytest

from tests.support.registry import Registry
from tests.support.web.pages import open_page


@pytest.mark.parametrize("path", ["/skills?q=&category=&tier=&author=+&sort=", "/queue?q=%C2%A0&source=&reason="])
async def test_blank_form_fields_do_not_filter(registry: Registry, path: str) -> None:
    await open_page(registry, path)


@pytest.mark.parametrize("path", ["/skills?colour=", "/queue?colour=", "/skills?cursor="])
async def test_blank_fields_that_no_form_has_are_refused(registry: Registry, path: str) -> None:
    await open_page(registry, path, status=400)
