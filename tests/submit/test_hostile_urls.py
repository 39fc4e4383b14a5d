"""Hostile URLs are rejected before any lookup or request."""

import asyncio

import pytest

from assay.model.errors import Invalid
from assay.submit.validate import parse_repository_url
from tests.support.registry import SECRET, Registry

HOSTS = ("gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com")
GITHUB = "https://github.com"
ENQUEUE = "/api/v1/admin/queue/bulk-enqueue"

URLS = [
    # private networks
    "http://127.0.0.1/acme/tools",
    "https://127.0.0.1/acme/tools",
    "https://localhost/acme/tools",
    "https://localhost.localdomain/acme/tools",
    "https://10.0.0.1/acme/tools",
    "https://172.16.0.1/acme/tools",
    "https://192.168.0.1/acme/tools",
    "https://169.254.169.254/latest/meta-data",
    "https://metadata.google.internal/acme/tools",
    "https://0.0.0.0/acme/tools",
    "https://0/acme/tools",
    "https://127.1/acme/tools",
    "https://2130706433/acme/tools",
    "https://017700000001/acme/tools",
    "https://0x7f000001/acme/tools",
    "https://0x7f.0.0.1/acme/tools",
    "https://[::1]/acme/tools",
    "https://[::]/acme/tools",
    "https://[::ffff:127.0.0.1]/acme/tools",
    "https://[fe80::1%25eth0]/acme/tools",
    "https://[64:ff9b::7f00:1]/acme/tools",
    "https://127.0.0.1.nip.io/acme/tools",
    # lookalikes of accepted hosts
    "https://github.com.evil.example/acme/tools",
    "https://evil.example/github.com/acme/tools",
    "https://gitlab.com.evil.example/acme/tools",
    "https://evilgitlab.com/acme/tools",
    "https://sub.gitlab.com/acme/tools",
    "https://gitlab.com./acme/tools",
    "https://github.com./acme/tools",
    "https://gitlab。com/acme/tools",
    "https://gitlab．com/acme/tools",
    "https://gitlab｡com/acme/tools",
    "https://ɡitlab.com/acme/tools",
    "https://xn--itlab-qqc.com/acme/tools",
    "https://gitlab%2ecom/acme/tools",
    "https://gitlab.com%2f@evil.example/acme/tools",
    "https://gitlab.com%00.evil.example/acme/tools",
    # userinfo and ports
    "https://gitlab.com@evil.example/acme/tools",
    "https://user:password@gitlab.com/acme/tools",
    "https://token@gitlab.com/acme/tools",
    "https://@gitlab.com/acme/tools",
    "https://:@gitlab.com/acme/tools",
    "https://gitlab.com:443@evil.example/acme/tools",
    "https://gitlab.com:8443/acme/tools",
    "https://gitlab.com:22/acme/tools",
    "https://gitlab.com:99999/acme/tools",
    "https://gitlab.com:-1/acme/tools",
    "https://gitlab.com:x/acme/tools",
    "https://gitlab.com\\@evil.example/acme/tools",
    "https:\\\\gitlab.com\\acme\\tools",
    # other protocols
    "http://gitlab.com/acme/tools",
    "git://gitlab.com/acme/tools",
    "ssh://gitlab.com/acme/tools",
    "git@gitlab.com:acme/tools",
    "file:///etc/passwd",
    "file://gitlab.com/acme/tools",
    "ftp://gitlab.com/acme/tools",
    "gopher://gitlab.com/acme/tools",
    "ext::sh -c id",
    "ext::https://gitlab.com/acme/tools",
    "fd::17",
    "https::https://gitlab.com/acme/tools",
    "javascript:alert(1)",
    "data:text/plain,acme/tools",
    "//gitlab.com/acme/tools",
    "gitlab.com/acme/tools",
    "/etc/passwd",
    "../../acme/tools",
    # git options in every part of a path
    "--upload-pack=touch /tmp/x",
    "-u",
    "https://gitlab.com/--upload-pack=id/tools",
    "https://gitlab.com/-acme/tools",
    "https://gitlab.com/acme/-tools",
    "https://gitlab.com/acme/--config=core.sshCommand=id",
    "https://gitlab.com/%2d%2dupload-pack/tools",
    "https://gitlab.com/acme/$(id)",
    "https://gitlab.com/acme/`id`",
    "https://gitlab.com/acme/tools;id",
    "https://gitlab.com/acme/tools|id",
    # traversal and hidden parts
    "https://gitlab.com/acme/..",
    "https://gitlab.com/../tools",
    "https://gitlab.com/acme/%2e%2e",
    "https://gitlab.com/acme/%2e%2e%2fx/tools",
    "https://gitlab.com/acme/./tools",
    "https://gitlab.com/acme",
    "https://gitlab.com/",
    "https://gitlab.com//acme//tools",
    "https://gitlab.com/acme/tools%00",
    "https://gitlab.com/acme/to%0aols",
    "https://gitlab.com/acme~evil/tools",
    "https://gitlab.com/ac\u200bme/tools",
    "https://gitlab.com/acme/\u202etools",
    "https://gitlab.com/аcme/tools",
    "https://gitlab.com/" + "a/" * 11 + "tools",
    "https://gitlab.com/" + "a" * 101 + "/tools",
    # control characters, which some libraries drop
    "https://gitlab.com/acme/to\nols",
    "https://gitlab.com/acme/to\tols",
    "https://gitlab.com/acme/tools\x00",
    "https://gitlab.com\r\nHost: evil.example/acme/tools",
    "ht\ntps://gitlab.com/acme/tools",
    "https://git\tlab.com/acme/tools",
    "\x1b[2Jhttps://gitlab.com/acme/tools",
    "",
    " ",
    "https://",
    "https:///acme/tools",
]


@pytest.mark.parametrize("url", URLS, ids=range(len(URLS)))
def test_hostile_url_is_rejected(url: str) -> None:
    """SSRF, option injection, and ambiguous URLs."""
    with pytest.raises(Invalid) as refused:
        parse_repository_url(url, GITHUB, HOSTS)
    assert refused.value.code == "bad_repo_url"
    assert refused.value.message.isprintable()


async def test_hostile_url_is_rejected_on_every_route(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """without a DNS lookup, a request or a row."""

    async def look_up(*asked: object, **_: object) -> list[object]:
        raise AssertionError(f"somebody looked up {asked}")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
    for url in URLS:
        answer = await registry.client.post("/api/v1/submissions", json={"repoUrl": url})
        assert (url, answer.status_code, answer.json()["code"]) == (url, 400, "bad_repo_url")
    for url in URLS[::7]:
        named = {"repoUrl": url, "skillName": "pdf", "skillPath": "SKILL.md"}
        answer = await registry.client.post("/api/v1/submissions", json=named)
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_repo_url")
        answer = await registry.client.post("/api/v1/submissions/discover", json={"repoUrl": url})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_repo_url")
    items = [{"repoUrl": url, "skillName": "pdf"} for url in URLS]
    answer = (await registry.client.post("/api/v1/submissions/bulk", json={"items": items})).json()
    assert [each["code"] for each in answer["results"]] == ["bad_repo_url"] * len(URLS)
    answer = (await registry.client.post(ENQUEUE, json={"items": items}, headers={"X-Internal-Key": SECRET})).json()
    assert (answer["enqueued"], answer["invalid"]) == (0, len(URLS))
    assert registry.github.count() == 0
    assert (await registry.client.get("/api/v1/submissions")).json()["total"] == 0


@pytest.mark.parametrize(
    ("url", "owner", "name", "folder"),
    [
        ("https://gitlab.com/acme/tools", "gitlab.com~acme", "tools", ""),
        ("https://GitLab.com/acme/tools.git", "gitlab.com~acme", "tools", ""),
        ("https://gitlab.com/acme/agents/tools/", "gitlab.com~acme~agents", "tools", ""),
        (
            "https://gitlab.com/acme/agents/tools/-/tree/main/skills/pdf",
            "gitlab.com~acme~agents",
            "tools",
            "skills/pdf",
        ),
        (
            "https://gitlab.com/acme/tools/-/blob/main/skills/pdf/SKILL.md?ref_type=heads",
            "gitlab.com~acme",
            "tools",
            "skills/pdf",
        ),
        ("https://gitlab.com/acme/tools/-/issues", "gitlab.com~acme", "tools", ""),
        ("https://codeberg.org/acme/tools/src/branch/main/skills/pdf", "codeberg.org~acme", "tools", "skills/pdf"),
        ("https://gitea.com/acme/tools/src/commit/0123abcd/skills/pdf", "gitea.com~acme", "tools", "skills/pdf"),
        ("https://bitbucket.org/acme/tools/src/main/skills/pdf/SKILL.md", "bitbucket.org~acme", "tools", "skills/pdf"),
        ("https://github.com/acme/tools", "acme", "tools", ""),
    ],
)
def test_page_urls_of_other_hosts_resolve_to_their_repository(url: str, owner: str, name: str, folder: str) -> None:
    """G16."""
    repository, shown = parse_repository_url(url, GITHUB, HOSTS)
    assert (repository.owner, repository.name, shown) == (owner, name, folder)
