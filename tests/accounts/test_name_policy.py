"""Names that people may take for handles and uploads."""

import pytest

from assay.accounts.name_policy import check_handle, check_upload_name, looks_alike
from assay.accounts.names.known import reserved_names, well_known_owners
from assay.accounts.names.popular import PopularNames
from assay.model.errors import AssayError, Conflict, Invalid
from assay.model.namespace import HANDLE, OPERATOR_NAMESPACE, UPLOADS_COLLECTION
from assay.serve.skills.starter import starter_skills
from assay.web.app import build_routes

POPULAR = PopularNames.of(
    [
        "anthropics/skills/pdf",
        "anthropics/skills/skill-creator",
        "widgetry/tools/release-notes",
        "alice/uploads/release-notes",
    ]
)


def refusal(error: type[AssayError], name: str, **given: bool) -> str:
    """Return the code with which a handle is refused; its message names the handle."""
    with pytest.raises(error) as raised:
        check_handle(name, POPULAR, **given)
    assert repr(name) in raised.value.message
    return raised.value.code


def test_lists_have_the_form_of_handles_and_are_disjoint() -> None:
    assert [name for name in reserved_names() | well_known_owners() if not HANDLE.fullmatch(name)] == []
    assert reserved_names() & well_known_owners() == frozenset()
    assert len(well_known_owners()) >= 150


def test_first_part_of_every_route_is_reserved() -> None:
    first = {route.path.split("/")[1] for route in build_routes().routes}
    assert {part.strip(".").partition(".")[0] for part in first if part and "{" not in part} <= reserved_names()
    assert {OPERATOR_NAMESPACE, UPLOADS_COLLECTION} <= reserved_names()


def test_owners_of_the_starter_catalogue_are_well_known() -> None:
    assert {each.repository.partition("/")[0].lower() for each in starter_skills()} <= well_known_owners()


@pytest.mark.parametrize(
    "handle", ["admin", "api", "local", "assay", "uploads", "www", "root", "security", "postmaster"]
)
def test_reserved_handles_are_refused(handle: str) -> None:
    """Also for a GitHub account with that login."""
    assert refusal(Conflict, handle) == "reserved_name"
    assert refusal(Conflict, handle, is_own_login=True) == "reserved_name"


@pytest.mark.parametrize(
    "handle", ["anthropic", "openai", "github", "anthropic-official", "the-google", "stripe-support"]
)
def test_names_of_well_known_owners_are_refused(handle: str) -> None:
    assert refusal(Conflict, handle) == "well_known_name"
    check_handle(handle, POPULAR, is_own_login=True)


@pytest.mark.parametrize(
    "handle",
    [
        "anthropcs",
        "anthr0pic",
        "anthroplc",
        "open-ai",
        "0penai",
        "openai2",
        "rnicrosoft",
        "hugging-face",
        "vercel-lab",
        "labs-vercel",
        "widgettry",
        "widgetry1",
    ],
)
def test_near_misses_of_owners_are_refused_as_handles(handle: str) -> None:
    """Of well-known ones and of the owners of popular skills."""
    assert refusal(Conflict, handle) == "similar_name"
    check_handle(handle, POPULAR, is_own_login=True)


@pytest.mark.parametrize(
    "handle",
    [
        "alice",
        "bob-42",
        "metal",
        "claude-fan",
        "python-berlin",
        "x",
        "jane-doe",
        "acme",
        "data-team",
        "openmind",
        "linda",
    ],
)
def test_other_handles_are_accepted(handle: str) -> None:
    check_handle(handle, POPULAR)


@pytest.mark.parametrize(
    ("slug", "error", "code"),
    [
        ("ｐｄｆ-official", Invalid, "deceptive_name"),
        ("рdf", Invalid, "deceptive_name"),
        ("pdf-оfficial", Invalid, "deceptive_name"),
        ("ꓑꓓꓝ", Conflict, "similar_name"),
        ("ᴘᴅꜰ", Conflict, "similar_name"),
        ("pđf", Conflict, "similar_name"),
        ("skil-creator", Conflict, "similar_name"),
        ("skillcreator", Conflict, "similar_name"),
        ("creator-skill", Conflict, "similar_name"),
        ("skill-creator-2", Conflict, "similar_name"),
        ("release-note", Conflict, "similar_name"),
        # Well known without a listing.
        ("clawdhubb", Conflict, "similar_name"),
    ],
)
def test_deceptive_upload_names_are_refused(slug: str, error: type[AssayError], code: str) -> None:
    with pytest.raises(error) as raised:
        check_upload_name("mallory", slug, POPULAR)
    assert raised.value.code == code
    assert raised.value.message.startswith("skillName: ")


@pytest.mark.parametrize(
    "slug",
    ["pdf", "skill-creator", "clawhub", "pdf-official", "odf", "отчёт", "报告pdf", "my-notes", "pdf-tools", "café"],
)
def test_other_upload_names_are_accepted(slug: str) -> None:
    """Also names that are equal to popular ones: the namespace distinguishes them."""
    check_upload_name("mallory", slug, POPULAR)


def test_owners_may_use_near_misses_of_their_own_names() -> None:
    check_upload_name("widgetry", "release-note", POPULAR)
    check_upload_name("alice", "release-note", POPULAR)
    check_upload_name("bob", "release-note", POPULAR, also_own=["widgetry"])


def test_operator_may_use_any_name() -> None:
    check_upload_name(OPERATOR_NAMESPACE, "skil-creator", POPULAR)


@pytest.mark.parametrize(
    ("name", "resembled"),
    [
        ("mallory/tools/skil-creator", "anthropics/skills/skill-creator"),
        ("mallory/tools/release-note", "widgetry/tools/release-notes"),
        ("mallory/tools/openc1aw", "openclaw"),
        ("anthropcs/skills/pdf", "anthropics"),
        ("mallory/tools/рdf", "anthropics/skills/pdf"),
        ("widgetry/tools/release-note", None),
        ("mallory/tools/skill-creator", None),
        ("anthropics/skills/pdf", None),
        ("gitlab.com~anthropcs/skills/pdf", None),
        ("obra/superpowers/brainstorming", None),
    ],
)
def test_listings_that_resemble_others_are_labelled(name: str, resembled: str | None) -> None:
    assert looks_alike(name, POPULAR) == resembled


def test_starter_skills_resemble_no_other() -> None:
    names = [each.full_name for each in starter_skills()]
    assert [name for name in names if looks_alike(name, PopularNames.of(names))] == []
