"""Validation of repository URLs, skill names and paths."""

import unicodedata

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assay.model.errors import Invalid
from assay.model.repository import Host, RepositoryName
from assay.model.skill import listing_name, slug_of
from assay.submit.validate import (
    AGENT_FOLDERS,
    checked_skill_name,
    checked_skill_path,
    parse_repository_url,
    parse_requested_skill,
)
from tests.support.registry import Registry
from tests.support.skills import a_repository, a_skill

GITHUB = "https://github.com"
ENTERPRISE = "https://git.example.com:8443/web"


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/tools",
        "https://github.com/Acme/TOOLS",
        "https://GitHub.com/acme/tools",
        "HTTPS://github.com/acme/tools",
        "https://github.com/acme/tools/",
        "https://github.com/acme/tools.git",
        "https://github.com/acme/tools.git/",
        "  https://github.com/acme/tools\n",
        "https://github.com/acme/tools?tab=readme-ov-file",
        "https://github.com/acme/tools#readme",
        "https://github.com/acme/tools/tree/main",
        "https://github.com/acme/tools/blob/main/SKILL.md",
        "https://github.com/acme/tools/blob/main/README.md",
        "https://github.com/acme/tools/issues/5",
        "https://github.com/%61cme/tools",
    ],
)
def test_url_forms_of_one_repository_are_equal(url: str) -> None:
    """G16: case, .git, slashes, pages and anchors."""
    repository, folder = parse_repository_url(url, GITHUB)
    assert repository.key == ("github", "acme", "tools")
    assert folder == ""


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("https://github.com/acme/tools/tree/main/skills/pdf", "skills/pdf"),
        ("https://github.com/acme/tools/tree/main/skills/pdf/", "skills/pdf"),
        ("https://github.com/acme/tools/tree/main/skills/pdf/SKILL.md", "skills/pdf"),
        ("https://github.com/acme/tools/blob/main/skills/pdf/SKILL.md", "skills/pdf"),
        ("https://github.com/acme/tools/blob/main/skills/pdf/README.md", "skills/pdf"),
        ("https://github.com/acme/tools/tree/main/skills/MY-SKILL.md", "skills/MY-SKILL.md"),
        ("https://github.com/acme/tools/tree/main/a%20b/%E6%8A%80%E8%83%BD", "a b/技能"),
    ],
)
def test_folder_url_names_the_skill(url: str, folder: str) -> None:
    """G16."""
    assert parse_repository_url(url, GITHUB)[1] == folder
    wanted = parse_requested_skill(url, None, None, GITHUB)
    assert wanted.skill_path == f"{folder}/SKILL.md"
    assert wanted.skill_name == folder.rpartition("/")[2]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "acme/tools",
        "github.com/acme/tools",
        "http://github.com/acme/tools",
        "git://github.com/acme/tools",
        "git@github.com:acme/tools.git",
        "ssh://git@github.com/acme/tools",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://gitlab.com/acme/tools",
        "https://www.github.com/acme/tools",
        "https://github.com.evil.example/acme/tools",
        "https://evil.example/github.com/acme/tools",
        "https://github.com@evil.example/acme/tools",
        "https://user@github.com/acme/tools",
        "https://user:secret@github.com/acme/tools",
        "https://@github.com/acme/tools",
        "https://github.com\\@evil.example/acme/tools",
        "https://github.com:8443/acme/tools",
        "https://github.com:443/acme/tools",
        "https://github.com:99999/acme/tools",
        "https://github.com:x/acme/tools",
        "https://[::1/acme/tools",
        "https://github.com",
        "https://github.com/",
        "https://github.com/acme",
        "https://github.com/acme/",
        "https://github.com//acme/tools",
        "https://github.com/acme//tools",
        "https://github.com/acme/.git",
        "https://github.com/acme/..",
        "https://github.com/../tools",
        "https://github.com/acme/%2e%2e",
        "https://github.com/acme/.",
        "https://github.com/acme%2Ftools",
        "https://github.com/acme/tools%2Fmore",
        "https://github.com/acme/to ols",
        "https://github.com/acme/to\nols",
        "https://github.com/acme/to\tols",
        "https://github.com/acme/tools%00",
        "https://github.com/acme/tools\u202e",
        "https://github.com/äcme/tools",
        "https://github.com/acme/tööls",
        "https://github.com/acme/tools;x",
        "https://gıthub.com/acme/tools",
        f"https://github.com/acme/{'x' * 101}",
    ],
)
def test_invalid_repository_url_is_rejected(url: str) -> None:
    """G16: the error shows the expected form."""
    with pytest.raises(Invalid) as refused:
        parse_repository_url(url, GITHUB)
    assert refused.value.code == "bad_repo_url"
    assert "https://github.com/owner/repository" in refused.value.message


def test_enterprise_server_with_port_and_path() -> None:
    repository, folder = parse_repository_url(f"{ENTERPRISE}/acme/tools/tree/main/a", ENTERPRISE)
    assert (str(repository), folder) == ("acme/tools", "a")
    for url in (
        "https://git.example.com/web/acme/tools",
        "https://git.example.com:8443/acme/tools",
        "https://git.example.com:8443/other/acme/tools",
        "https://git.example.com:8443/webacme/tools",
        "https://git.example.com:8443/web",
        "https://github.com/acme/tools",
    ):
        with pytest.raises(Invalid):
            parse_repository_url(url, ENTERPRISE)


@settings(deadline=None)
@given(st.text(max_size=60) | st.text(max_size=40).map(lambda tail: f"{GITHUB}/{tail}"))
def test_any_input_is_a_plain_name_or_rejected(url: str) -> None:
    """G16."""
    try:
        repository, _ = parse_repository_url(url, GITHUB)
    except Invalid:
        return
    for part in (repository.owner, repository.name):
        assert part.isascii()
        assert part.strip(".") or part not in (".", "..")
        assert not set(part) & set("/\\%?#@: ")


SEGMENT = st.from_regex(r"[A-Za-z0-9][\w.-]{0,20}", fullmatch=True).filter(str.isascii)


@settings(deadline=None)
@given(SEGMENT, SEGMENT, st.sampled_from(["", "/", ".git", ".git/", "/tree/main", "?a=b", "#c"]))
def test_url_decorations_do_not_change_the_name(owner: str, name: str, decoration: str) -> None:
    """G16."""
    assume(not name.endswith(".git"))
    repository, _ = parse_repository_url(f"{GITHUB}/{owner}/{name}{decoration}", GITHUB)
    assert repository == RepositoryName(Host.GITHUB, owner, name)


@pytest.mark.process
async def test_url_forms_create_one_submission(registry: Registry) -> None:
    """G16: over HTTP."""
    registry.github.add_repository("acme/tools", a_repository("pdf"))
    base = f"{registry.web_url}/acme/tools"
    spellings = [
        {"repoUrl": base, "skillName": "pdf", "skillPath": "skills/pdf/SKILL.md"},
        {"repoUrl": f"{registry.web_url}/ACME/Tools.git", "skillName": " pdf ", "skillPath": "skills/pdf/SKILL.md"},
        {"repoUrl": f"{base}/tree/main/skills/pdf"},
        {"repoUrl": f"{base}/blob/main/skills/pdf/SKILL.md#usage"},
    ]
    answers = [(await registry.client.post("/api/v1/submissions", json=body)).json() for body in spellings]
    assert len({answer["id"] for answer in answers}) == 1
    await registry.work()
    assert (await registry.read(answers[0]["id"]))["publishedSkillName"] == "acme/tools/pdf"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"repoUrl": "https://evil.example/acme/tools", "skillName": "pdf"}, "bad_repo_url"),
        ({"skillName": "x"}, "bad_skill_name"),
        ({"skillName": "a/b"}, "bad_skill_name"),
        ({"skillName": "pdf", "skillPath": "../SKILL.md"}, "bad_path"),
        ({"skillName": "pdf", "skillPath": ".claude/skills/pdf/SKILL.md"}, "bad_skill_path"),
    ],
)
async def test_invalid_request_is_rejected_and_stores_nothing(
    registry: Registry, body: dict[str, str], code: str
) -> None:
    """G16, G17."""
    answer = await registry.client.post(
        "/api/v1/submissions", json={"repoUrl": f"{registry.web_url}/acme/tools"} | body
    )
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert answer.json()["detail"]
    assert (await registry.client.get("/api/v1/submissions")).json()["total"] == 0


# Names


@pytest.mark.parametrize("name", ["ab", "pdf", "x" * 100, "My Skill (v2)", "技能", "a.b", "über", "C++ 20"])
def test_names_of_2_to_100_characters_are_accepted(name: str) -> None:
    """G17: in any alphabet."""
    assert checked_skill_name(name) == name
    assert checked_skill_name(f"  {name}\n") == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a",
        " a ",
        "x" * 101,
        "a/b",
        "../etc",
        "a\\b",
        "..",
        "--",
        "!!",
        "a\0b",
        "a\nb",
        "a\x1b[0m",
        "a\u200bb",
        "a\u202eb",
        "a\u2028b",
        "a\udc80b",
        "a\ue000b",
        "\u0301\u0301",
    ],
)
def test_invalid_name_is_rejected(name: str) -> None:
    """G17: too short, too long, control characters, slashes, traversal."""
    with pytest.raises(Invalid) as refused:
        checked_skill_name(name)
    assert refused.value.code == "bad_skill_name"
    assert "skillName" in refused.value.message


def test_unicode_spellings_are_one_name() -> None:
    """G17."""
    assert checked_skill_name("u\u0308ber") == checked_skill_name("über") == "über"
    # Counted after normalisation.
    with pytest.raises(Invalid):
        checked_skill_name("u\u0308")


@settings(deadline=None)
@given(st.text(max_size=120))
def test_accepted_name_is_stable(name: str) -> None:
    """G17: validating twice changes nothing, and its slug is never empty."""
    try:
        checked = checked_skill_name(name)
    except Invalid:
        return
    assert checked_skill_name(checked) == checked
    assert unicodedata.is_normalized("NFC", checked)
    assert 2 <= len(checked) <= 100
    assert slug_of(checked)
    assert not set(checked) & set("/\\\0\n\r")


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("pdf", "pdf"),
        ("PDF", "pdf"),
        ("My Skill (v2)", "my-skill-v2"),
        ("a__b--c", "a-b-c"),
        ("-pdf-", "pdf"),
        ("C++", "c"),
        ("技能", "技能"),
        ("Über", "über"),
        ("a.b", "a-b"),
    ],
)
def test_slug_is_lower_case_with_dashes(name: str, slug: str) -> None:
    """G55."""
    assert slug_of(name) == slug


@settings(deadline=None)
@given(st.text(max_size=60))
def test_slug_is_idempotent_and_url_safe(name: str) -> None:
    """G55."""
    slug = slug_of(name)
    assert slug_of(slug) == slug
    assert not set(slug) & set("/\\ ?#%&_")
    assert slug == slug.strip("-")


@pytest.mark.process
async def test_every_surface_uses_the_same_name(registry: Registry) -> None:
    """G55: listing, submission and search."""
    registry.github.add_repository("Acme/Tools", {"SKILL.md": a_skill("x")})
    accepted = await registry.submit("Acme/Tools", "My Skill (v2)", as_operator=True)
    await registry.work()
    expected = listing_name(RepositoryName(Host.GITHUB, "Acme", "Tools"), "My Skill (v2)")
    assert expected == "acme/tools/my-skill-v2"
    assert (await registry.read(accepted["id"]))["publishedSkillName"] == expected
    assert (await registry.client.get(f"/api/v1/skills/{expected}")).json()["skill"]["name"] == expected
    hits = (await registry.client.get("/api/v1/skills/search", params={"q": "my-skill-v2"})).json()["results"]
    assert [hit["name"] for hit in hits] == [expected]


# Paths


@pytest.mark.parametrize(
    "path", ["SKILL.md", "skills/pdf/SKILL.md", " a/SKILL.md ", "claude/SKILL.md", ".hidden/SKILL.md"]
)
def test_path_of_a_skill_md_is_accepted(path: str) -> None:
    """G17."""
    assert checked_skill_path(path) == path.strip()


def test_default_path_is_skill_md() -> None:
    """G17."""
    assert parse_requested_skill(f"{GITHUB}/acme/tools", "pdf", None, GITHUB).skill_path == "SKILL.md"
    wanted = parse_requested_skill(f"{GITHUB}/acme/tools/tree/main/a", "pdf", "b/SKILL.md", GITHUB)
    assert wanted.skill_path == "b/SKILL.md"
    assert parse_requested_skill(f"{GITHUB}/acme/tools", None, None, GITHUB).skill_name == "tools"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../SKILL.md", "bad_path"),
        ("a/../../SKILL.md", "bad_path"),
        ("/SKILL.md", "bad_path"),
        ("a\\SKILL.md", "bad_path"),
        ("C:/SKILL.md", "bad_path"),
        ("a//SKILL.md", "bad_path"),
        ("./SKILL.md", "bad_path"),
        ("a\nb/SKILL.md", "bad_path"),
        ("a\u202eb/SKILL.md", "bad_path"),
        ("a/" * 40 + "SKILL.md", "bad_path"),
        ("x" * 600 + "/SKILL.md", "bad_path"),
        ("README.md", "bad_skill_path"),
        ("skills/pdf", "bad_skill_path"),
        ("skills/pdf/skill.md", "bad_skill_path"),
        ("MY-SKILL.md", "bad_skill_path"),
        ("SKILL.md/x", "bad_skill_path"),
    ],
)
def test_invalid_path_is_rejected(path: str, code: str) -> None:
    """G17: traversal, absolute, backslashes, other files."""
    with pytest.raises(Invalid) as refused:
        checked_skill_path(path)
    assert refused.value.code == code


@pytest.mark.parametrize("folder", sorted(AGENT_FOLDERS))
@pytest.mark.parametrize("form", ["{}/skills/x/SKILL.md", "{}/SKILL.md", "packages/app/{}/skills/x/SKILL.md"])
def test_agent_configuration_folder_is_rejected(folder: str, form: str) -> None:
    """G17: at any depth, in any case."""
    for spelling in (folder, folder.upper()):
        with pytest.raises(Invalid, match="configuration"):
            checked_skill_path(form.format(spelling))


async def test_agent_folder_is_rejected_in_body_and_url(registry: Registry) -> None:
    """G17."""
    base = f"{registry.web_url}/acme/tools"
    for body in (
        {"repoUrl": base, "skillPath": ".claude/skills/x/SKILL.md"},
        {"repoUrl": f"{base}/tree/main/.claude/skills/x"},
        {"repoUrl": f"{base}/blob/main/.claude/skills/x/SKILL.md"},
    ):
        answer = await registry.client.post("/api/v1/submissions", json=body | {"skillName": "own"})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_skill_path")
