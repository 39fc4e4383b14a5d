"""Names of listings that many people rely on."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

# Each half reads the beginning of an index, whatever the size of the catalogue.
POPULAR = text(
    """
    SELECT name FROM (
        (SELECT name, id FROM skill WHERE standing = 'live' AND installs >= :installs
        ORDER BY installs DESC, id DESC LIMIT :top)
        UNION
        (SELECT name, id FROM skill WHERE standing = 'live' AND coalesce(stars, -1) >= :stars
        ORDER BY coalesce(stars, -1) DESC, id DESC LIMIT :top)
    ) AS popular ORDER BY id
    """
)


async def list_popular_names(db: AsyncConnection, *, installs: int, stars: int, top: int) -> list[str]:
    """Return live listings with at least these installs or stars, the `top` of each, oldest first."""
    return list((await db.execute(POPULAR, {"installs": installs, "stars": stars, "top": top})).scalars())
