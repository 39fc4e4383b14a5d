"""Namespaces: the first part of every listing name, and who owns it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from assay.model.errors import Invalid

# Works in every client protocol, and is the form of a GitHub login.
HANDLE = re.compile(r"[a-z0-9]([a-z0-9-]{0,37}[a-z0-9])?")
# The namespace of the operator: uploads with the internal key.
OPERATOR_NAMESPACE = "local"
# The second part of the names of uploaded skills.
UPLOADS_COLLECTION = "uploads"


class NamespaceKind(StrEnum):
    GITHUB = "github"
    """A user or organisation on GitHub, by numeric id; null until GitHub has been asked."""
    GIT = "git"
    """A group on another git server, as `host~group`."""
    ACCOUNT = "account"
    """The handle of an account that did not sign in with GitHub."""
    OPERATOR = "operator"


class ClaimMethod(StrEnum):
    """The proof behind a claim. GitHub users own the namespace of their login without a claim."""

    GITHUB_ORGANISATION = "github_organisation"
    CHALLENGE = "challenge"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Namespace:
    name: str
    kind: NamespaceKind
    github_id: int | None
    account_id: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NamespaceClaim:
    """The right of an account to act for a namespace, or for one repository (`collection`) of it."""

    id: UUID
    namespace: str
    collection: str | None
    account_id: UUID
    method: ClaimMethod
    detail: Mapping[str, object]
    created_at: datetime
    created_by: str


def checked_handle(handle: str) -> str:
    """Return the handle in lower case. Raises Invalid unless it has the form of a GitHub login."""
    folded = handle.strip().lower()
    if not HANDLE.fullmatch(folded):
        raise Invalid(
            "handle: use 1 to 39 letters, digits or dashes, without a dash at the beginning or end.", code="bad_handle"
        )
    return folded


def namespace_of(listing_name: str) -> str:
    """Return the first part of a listing name."""
    return listing_name.partition("/")[0]
