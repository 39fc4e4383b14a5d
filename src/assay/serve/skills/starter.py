"""The starter catalogue: well-known public skills, as facts about where they are. Nobody here has examined them.

It is shown where there is nothing else: on an empty registry, and as the last resort while the database is away. It
is never mixed with listings, and never counted as any.
"""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from assay.model.category import Category
from assay.model.naming import listing_name
from assay.model.repository import Host, RepositoryName


class StarterSkill(msgspec.Struct, frozen=True):
    """A skill that could be submitted."""

    name: str
    repository: str
    path: str
    category: Category
    description: str

    @property
    def full_name(self) -> str:
        """The name that its listing would have."""
        owner, _, repository = self.repository.partition("/")
        return listing_name(RepositoryName(Host.GITHUB, owner, repository), self.name)

    def shown(self, web_url: str) -> dict[str, Any]:
        """As JSON, in the words of a listing; what only an examination could know is null."""
        owner, repository, slug = self.full_name.split("/")
        return {
            "name": self.full_name,
            "displayName": self.name,
            "description": self.description,
            "author": self.repository.partition("/")[0],
            "repoUrl": f"{web_url}/{self.repository}",
            "ownerSlug": owner,
            "repoSlug": repository,
            "skillSlug": slug,
            "skillPath": self.path,
            "category": self.category.value,
            "certTier": None,
            "certScore": None,
            "trustTier": None,
            "currentVersion": None,
            "unverified": True,
        }


@cache
def starter_skills() -> tuple[StarterSkill, ...]:
    """All of them, in the order of the file."""
    raw = (files("assay.serve.skills") / "starter.json").read_bytes()
    return msgspec.json.decode(raw, type=tuple[StarterSkill, ...])


def find_starters(query: str) -> list[StarterSkill]:
    """Those in whose name, repository or description every word occurs."""
    words = query.lower().split()
    texts = ((each, f"{each.full_name} {each.name} {each.description}".lower()) for each in starter_skills())
    return [each for each, text in texts if all(word in text for word in words)]
