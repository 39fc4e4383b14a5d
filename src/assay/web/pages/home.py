"""The home page."""

from litestar import get
from litestar.response import Template

from assay.serve.catalogue import read_newest
from assay.serve.queue import QueueQuery, read_queue
from assay.web.access import PUBLIC
from assay.web.given import Assay


@get("/", opt=PUBLIC, include_in_schema=False)
async def home(assay: Assay) -> Template:
    """What this is, what it holds, what it is doing."""
    async with assay.store.snapshot() as db:
        newest = await read_newest(db, limit=6)
        queue = await read_queue(db, QueueQuery(limit=6), assay.clock.now())
    return Template("home.html", context={"newest": newest, "queue": queue, "base_url": assay.settings.base_url})
