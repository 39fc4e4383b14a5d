"""The starter catalogue: well-known public skills and where they are, without any scan results.

Shown on an empty registry, and in degraded mode if the edge copy is empty or unreadable. Never mixed with listings or
counted as listings.
"""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from assay.model.category import Category
from assay.model.repository import Host, RepositoryName
from assay.model.skill import listing_name


class StarterSkill(msgspec.Struct, frozen=True):
    """A public skill that can be submitted."""

    name: str
    repository: str
    path: str
    category: Category
    description: str

    @property
    def full_name(self) -> str:
        """The name that its listing would get."""
        owner, _, repository = self.repository.partition("/")
        return listing_name(RepositoryName(Host.GITHUB, owner, repository), self.name)

    def shown(self, web_url: str) -> dict[str, Any]:
        """Return the JSON of a listing; fields that require a scan are null."""
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
    raw = (files("assay.serve.skills") / "starter.json").read_bytes()
    return msgspec.json.decode(raw, type=tuple[StarterSkill, ...])


def find_starters(query: str) -> list[StarterSkill]:
    """Return those that contain every word in their name, repository or description."""
    words = query.lower().split()
    texts = ((each, f"{each.full_name} {each.name} {each.description}".lower()) for each in starter_skills())
    return [each for each, text in texts if all(word in text for word in words)]
