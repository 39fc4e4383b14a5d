"""The catalogue of the edge copy resolves flat names like the database."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from assay.edge.keys import skill_key
from assay.edge.lmdb import LmdbEdge
from assay.edge.values import SkillValue, encode
from assay.model.errors import Ambiguous
from assay.model.repository import Host, RepositoryName
from assay.model.skill import Skill
from assay.serve.operations.edge_copy import PublishedCopy
from tests.support.edge_stores import THEN, a_listing


@pytest.fixture
async def copy(tmp_path: Path) -> AsyncIterator[PublishedCopy]:
    edge = LmdbEdge(tmp_path / "edge")
    yield PublishedCopy(edge, lambda: THEN)
    await edge.close()


def an_upload(owner: str, number: int, **more: object) -> Skill:
    """Return an uploaded `pdf`; a higher number was uploaded later."""
    repository = RepositoryName(Host.UPLOAD, owner, "uploads")
    return a_listing(f"{owner}/uploads/pdf", number, repository=repository, **more)


async def resolve(copy: PublishedCopy, *listings: Skill) -> list[str]:
    """Return the listings that the flat name `pdf` leads to."""
    values = {skill_key(each.name): encode(SkillValue(serial=1, skill=each)) for each in listings}
    assert await copy.edge.write(values, (), since=0, serial=1)
    try:
        return [(await copy.find("pdf")).skill.name]
    except Ambiguous as error:
        return list(error.choices)


async def test_upload_does_not_make_the_name_of_a_repository_ambiguous(copy: PublishedCopy) -> None:
    assert await resolve(copy, a_listing("acme/kit/pdf", 1), an_upload("mallory", 2)) == ["acme/kit/pdf"]


async def test_first_upload_keeps_its_name_against_other_uploads(copy: PublishedCopy) -> None:
    assert await resolve(copy, an_upload("mallory", 2), an_upload("alice", 1)) == ["alice/uploads/pdf"]


async def test_repositories_and_an_older_upload_are_ambiguous(copy: PublishedCopy) -> None:
    listings = (an_upload("alice", 1), a_listing("acme/kit/pdf", 2), an_upload("mallory", 3))
    assert await resolve(copy, *listings) == ["acme/kit/pdf", "alice/uploads/pdf"]


async def test_renamed_upload_is_not_older_than_the_listings_with_its_new_name(copy: PublishedCopy) -> None:
    renamed = an_upload("mallory", 1, named_at=THEN + timedelta(days=1))
    assert await resolve(copy, renamed, an_upload("alice", 2)) == ["alice/uploads/pdf"]
