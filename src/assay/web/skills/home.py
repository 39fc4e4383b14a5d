"""The home page."""

from litestar import get
from litestar.response import Template

from assay.serve.queue.queue import QueueQuery, read_queue
from assay.serve.skills.catalogue import read_newest
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay


@get("/", opt=PUBLIC, include_in_schema=False)
async def home(assay: Assay) -> Template:
    """What this is, what it holds, what it is doing."""
    async with assay.store.snapshot() as db:
        newest = await read_newest(db, limit=6)
        queue = await read_queue(db, QueueQuery(limit=6), assay.clock.now())
    return Template("skills/home.html", context={"newest": newest, "queue": queue, "base_url": assay.settings.base_url})
