"""Decides which names people may take for their handles and uploads.

A name must not be mistaken for another: it is neither reserved nor the name of a well-known owner, has no deceptive
characters, and is no near miss of a popular name. Names from repositories are never refused, because their owner chose
them elsewhere; `looks_alike` labels them.
"""

from collections.abc import Collection

from assay.accounts.names.known import reserved_names, well_known_owners
from assay.accounts.names.popular import PopularNames
from assay.accounts.names.skeleton import has_compatibility_characters, mixed_word
from assay.model.errors import Conflict, Invalid
from assay.model.namespace import OPERATOR_NAMESPACE, namespace_of
from assay.model.repository import GROUP_SEPARATOR
from assay.model.skill import slug_in

# Words with which a handle claims to speak for an owner.
AFFILIATIONS = frozenset(
    {"admin", "company", "corp", "dev", "hq", "inc", "official", "real", "security", "staff", "support", "team", "the"}
)


def check_handle(handle: str, popular: PopularNames, *, is_own_login: bool = False) -> None:
    """Raise Conflict if an account may not have this handle, which has the form of `checked_handle`.

    `is_own_login` says that GitHub confirmed the handle as the caller's login. Then only reserved words are refused,
    because the repositories of that login are listed in the same namespace anyway.
    """
    if handle in reserved_names():
        raise Conflict(f"handle: {handle!r} is reserved. Choose another one.", code="reserved_name")
    if is_own_login:
        return
    owner = _claimed_owner(handle)
    if owner is not None:
        raise Conflict(
            f"handle: {handle!r} is or contains the name of the well-known owner {owner!r}. "
            "Sign in with that GitHub account to use it, or choose another one.",
            code="well_known_name",
        )
    found = popular.namespaces.find_resembled(handle)
    if found is not None:
        known, how = found
        raise Conflict(f"handle: {handle!r} {how.value} {known.shown!r}. Choose another one.", code="similar_name")


def check_upload_name(namespace: str, slug: str, popular: PopularNames, *, also_own: Collection[str] = ()) -> None:
    """Raise Invalid or Conflict if a new upload may not have this name.

    Equal names in different namespaces are allowed, as are near misses of names in the caller's own namespaces. Do not
    call it for a new version: a name must not become forbidden because a similar one became popular. The operator may
    use any name.
    """
    if namespace == OPERATOR_NAMESPACE:
        return
    _check_characters(slug)
    found = popular.skills.find_resembled(slug, own={namespace, *also_own})
    if found is not None:
        known, how = found
        raise Conflict(
            f"skillName: {slug!r} {how.value} the popular skill {known.shown!r}. "
            "Choose a name that cannot be mistaken for it.",
            code="similar_name",
        )


def looks_alike(name: str, popular: PopularNames) -> str | None:
    """Return the popular skill or owner that the full name of a listing resembles, or None. Costs no query."""
    namespace, slug = namespace_of(name), slug_in(name)
    found = popular.skills.find_resembled(slug, own={namespace})
    # The namespaces of other git servers show the server.
    if found is None and GROUP_SEPARATOR not in namespace:
        found = popular.namespaces.find_resembled(namespace)
    return found[0].shown if found else None


def _check_characters(slug: str) -> None:
    if has_compatibility_characters(slug):
        raise Invalid(
            f"skillName: {slug!r} has other forms of ordinary characters, such as full-width letters. "
            "Use the ordinary characters.",
            code="deceptive_name",
        )
    mixed = mixed_word(slug)
    if mixed is not None:
        raise Invalid(
            f"skillName: {mixed!r} mixes alphabets whose letters look alike. Write each word in one alphabet.",
            code="deceptive_name",
        )


def _claimed_owner(handle: str) -> str | None:
    """Return the well-known owner whose name this is, with or without words such as `official`."""
    if handle in well_known_owners():
        return handle
    parts = [part for part in handle.split("-") if part not in AFFILIATIONS]
    rest = "-".join(parts)
    return rest if rest in well_known_owners() else None
