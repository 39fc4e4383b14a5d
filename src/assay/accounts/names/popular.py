"""The names that uploads and handles must not imitate: popular listings, their namespaces, and well-known names."""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.names.known import well_known_owners, well_known_skills
from assay.accounts.names.similar import KnownName, NameIndex
from assay.model.namespace import namespace_of
from assay.model.skill import slug_in
from assay.store.skills.popular import list_popular_names

# A name is popular if others rely on it: installs are counted once per caller, skill and day, and stars are given by
# people with GitHub accounts. Below these numbers an imitation finds few victims.
MIN_INSTALLS, MIN_STARS = 100, 1_000
# Of each kind, so that the cost does not grow with the catalogue.
TOP = 1_000
CACHED_FOR = timedelta(minutes=1)


@dataclass(frozen=True)
class PopularNames:
    """Popular slugs and namespaces, and those that are well known without a listing."""

    skills: NameIndex
    namespaces: NameIndex

    @classmethod
    def of(cls, listings: Iterable[str]) -> "PopularNames":
        """Build the indexes from the full names of popular listings, which takes milliseconds."""
        slugs = {each.name: each for each in well_known_skills()}
        namespaces = {name: KnownName(name, name, frozenset({name})) for name in sorted(well_known_owners())}
        for listing in listings:
            slug, namespace = slug_in(listing), namespace_of(listing)
            known = slugs.get(slug)
            # The first listing with the name is shown in messages.
            shown = known.shown if known and known.owners else listing
            slugs[slug] = KnownName(slug, shown, (known.owners if known else frozenset()) | {namespace})
            namespaces.setdefault(namespace, KnownName(namespace, namespace, frozenset({namespace})))
        return cls(NameIndex(slugs.values()), NameIndex(namespaces.values()))


class PopularNamesCache:
    """The popular names as one process knows them; at first only the well-known ones."""

    def __init__(self) -> None:
        self._listings: Collection[str] = ()
        self._names: PopularNames | None = None
        self._read_at: datetime | None = None

    @property
    def names(self) -> PopularNames:
        """The names as last read."""
        if self._names is None:
            self._names = PopularNames.of(())
        return self._names

    async def read(self, db: AsyncConnection, now: datetime) -> PopularNames:
        """Return the names, read again if they are older than a minute."""
        if self._read_at is None or now - self._read_at >= CACHED_FOR:
            # Set first, so that concurrent requests do not read as well.
            self._read_at = now
            listings = await list_popular_names(db, installs=MIN_INSTALLS, stars=MIN_STARS, top=TOP)
            if listings != self._listings:
                self._names = await asyncio.to_thread(PopularNames.of, listings)
                self._listings = listings
        return self.names
