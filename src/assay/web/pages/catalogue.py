"""The list of skills, with search."""

from typing import Annotated

from litestar import get
from litestar.params import FromQuery, QueryParameter
from litestar.response import Template

from assay.model.errors import Invalid
from assay.serve.catalogue import read_catalogue
from assay.serve.search import DEEPEST, find_skills
from assay.web.access import PUBLIC
from assay.web.given import Assay

PAGE = 30


@get("/skills", opt=PUBLIC, include_in_schema=False)
async def skills(
    assay: Assay,
    q: FromQuery[str | None] = None,
    cursor: Annotated[str | None, QueryParameter(max_length=200)] = None,
    offset: Annotated[int | None, QueryParameter(ge=0, le=DEEPEST)] = None,
) -> Template:
    """All skills, or those that match."""
    if q and q.strip():
        if cursor is not None:
            raise Invalid("cursor: hits of a search are paged by offset.", code="bad_cursor")
        return await _hits(assay, q, offset or 0)
    if offset is not None:
        raise Invalid("offset: the whole list is paged by cursor.", code="bad_offset")
    async with assay.store.snapshot() as db:
        page = await read_catalogue(db, cursor=cursor, limit=PAGE)
    more = {"cursor": page.next_cursor} if page.next_cursor else None
    return Template("skills.html", context={"q": "", "skills": page.skills, "total": page.total, "more": more})


async def _hits(assay: Assay, q: str, offset: int) -> Template:
    async with assay.store.snapshot() as db:
        found = await find_skills(db, q, web_url=assay.settings.github_web_url, limit=PAGE, offset=offset)
    onward = offset + PAGE
    more = {"q": q, "offset": onward} if found.has_more and onward <= DEEPEST else None
    return Template("skills.html", context={"q": q, "skills": found.skills, "total": None, "more": more})
