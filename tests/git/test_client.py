"""The git client: restrictions, results and errors."""

import asyncio
import os
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from assay.fetch.git_archive import fetch_commit
from assay.fetch.limits import Limits
from assay.git.client import Git, GitOptions
from assay.git.command import Bounds
from assay.model.errors import AssayError, Invalid, NotFound, RateLimited, Refused, Unavailable
from assay.model.repository import RepositoryName, repository_on_server
from tests.support.git_server import GitServer, git
from tests.support.skills import a_repository, a_skill

LIMITS = Limits()


def tools_of(server: GitServer) -> RepositoryName:
    """Create a repository in a nested group."""
    return repository_on_server(server.host, ["acme", "agents", "tools"])


async def test_newest_commit_is_fetched_without_history(server: GitServer) -> None:
    """any branch name, any alphabet, links reported."""
    server.push("acme/agents/tools", {"old.md": "gone"})
    commit = server.push("acme/agents/tools", {"SKILL.md": a_skill(), "技能.md": "你好"}, {"link": "/etc/passwd"})
    facts, found = await Git().resolve(tools_of(server))
    assert (found, facts.default_branch, facts.host_id, facts.stars) == (commit, "trunk", None, None)
    archive = await fetch_commit(Git(), facts.name, commit, LIMITS)
    assert {path: archive.read(path).decode() for path in archive.files} == {"SKILL.md": a_skill(), "技能.md": "你好"}
    assert archive.left_out == {"link": "it is a link"}
    assert [entry.path for entry in await Git().list_files(facts.name, commit) if entry.is_regular] == [
        "SKILL.md",
        "技能.md",
    ]


async def test_large_file_is_listed_but_not_fetched(server: GitServer) -> None:
    """G39: also if the server ignores the filter."""
    commit = server.push("acme/agents/tools", {"SKILL.md": a_skill(), "model.bin": os.urandom(300_000)})
    small = Limits(file_bytes=100_000)
    options = GitOptions(fetch=Bounds(seconds=60, file_bytes=200_000))
    archive = await fetch_commit(Git(options), tools_of(server), commit, small)
    assert archive.files["model.bin"].offset is None
    assert archive.read("SKILL.md").decode() == a_skill()
    git(server.root / "acme/agents/tools.git", "config", "uploadpack.allowFilter", "false")
    archive = await fetch_commit(Git(), tools_of(server), commit, small)
    assert archive.files["model.bin"].offset is None


async def test_repository_beyond_the_limits_is_rejected(server: GitServer) -> None:
    """G39: transfer size, file size, file count and recursive trees."""
    commit = server.push("acme/agents/tools", {"SKILL.md": a_skill(), "noise.bin": os.urandom(300_000)})
    tight = GitOptions(fetch=Bounds(seconds=60, file_bytes=100_000))
    assert (await error_of(fetch_commit(Git(tight), tools_of(server), commit, LIMITS), Invalid)) == "archive_too_large"
    narrow = fetch_commit(Git(), tools_of(server), commit, Limits(archive_bytes=1000))
    assert (await error_of(narrow, Invalid)) == "archive_too_large"
    few = fetch_commit(Git(), tools_of(server), commit, Limits(archive_entries=1))
    assert (await error_of(few, Invalid)) == "archive_too_large"
    bare = server.root / "acme/agents/tools.git"
    tree = git(bare, "mktree", stdin=f"100644 blob {git(bare, 'hash-object', '-w', '--stdin')}\tf\n".encode())
    for _ in range(7):
        tree = git(bare, "mktree", stdin="".join(f"040000 tree {tree}\t{name}\n" for name in "abcdefghij").encode())
    bomb = git(bare, "commit-tree", "-m", "bomb", tree)
    git(bare, "update-ref", "refs/heads/trunk", bomb)
    bounded = GitOptions(read=Bounds(seconds=60, file_bytes=2_000_000))
    assert (await error_of(fetch_commit(Git(bounded), tools_of(server), bomb, LIMITS), Invalid)) == "archive_too_large"


async def test_undecodable_and_invisible_names_are_skipped(server: GitServer) -> None:
    commit = server.push("acme/agents/tools", {"SKILL.md": a_skill(), "bad\udcff.md": "x", "b\u200b.md": "y"})
    archive = await fetch_commit(Git(), tools_of(server), commit, LIMITS)
    assert list(archive.files) == ["SKILL.md"]
    assert len(archive.left_out) == 2


async def error_of(work, kind: type[AssayError]) -> str:
    """Return the error code."""
    with pytest.raises(kind) as raised:
        await work
    assert type(raised.value) is kind
    return raised.value.code


def answering(status: int, **headers: str):
    """Answer every request this way."""

    def intercept(request: BaseHTTPRequestHandler) -> bool:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", "0")
        request.end_headers()
        return True

    return intercept


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (404, NotFound, "source_not_found"),
        (401, NotFound, "source_not_found"),
        (410, NotFound, "source_gone"),
        (403, Refused, "git_forbidden"),
        (429, RateLimited, "rate_limited"),
        (500, Unavailable, "git_unavailable"),
        (502, Unavailable, "git_unavailable"),
        (200, Unavailable, "git_unavailable"),
    ],
)
async def test_each_server_error_has_its_own_code(
    server: GitServer, status: int, kind: type[AssayError], code: str
) -> None:
    """G36."""
    server.push("acme/agents/tools", a_repository("pdf"))
    server.intercept = answering(status)
    assert await error_of(Git().resolve(tools_of(server)), kind) == code


async def test_redirects_are_never_followed(server: GitServer, tmp_path: Path) -> None:
    with_secret = tmp_path / "secret"
    with_secret.write_text("x")
    server.push("acme/agents/tools", a_repository("pdf"))
    for target in (f"http://localhost:{server.port}/other.git/info/refs", f"file://{with_secret}", "ext::sh -c id"):
        server.requests.clear()
        server.intercept = answering(302, Location=target)
        assert await error_of(Git().resolve(tools_of(server)), Refused) == "git_redirect"
        assert len(server.requests) == 1


async def test_repository_without_commits_is_empty(server: GitServer) -> None:
    (server.root / "acme/agents/tools.git").mkdir(parents=True)
    git(server.root / "acme/agents/tools.git", "init", "-q", "--bare", ".")
    assert await error_of(Git().resolve(tools_of(server)), NotFound) == "source_empty"
    assert (
        await error_of(Git().resolve(repository_on_server(server.host, ["acme", "none"])), NotFound)
        == "source_not_found"
    )


async def test_hanging_server_times_out(server: GitServer) -> None:
    """and leaves no git process."""

    def hang(request: BaseHTTPRequestHandler) -> bool:
        time.sleep(5)
        return answering(404)(request)

    server.intercept = hang
    options = GitOptions(look_up=Bounds(seconds=0.5, file_bytes=1000_000))
    assert await error_of(Git(options).resolve(tools_of(server)), Unavailable) == "git_timeout"
    await _until_none_runs(server.host)
    waiting = asyncio.create_task(Git().resolve(tools_of(server)))
    while not _running(server.host):
        await asyncio.sleep(0.02)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await _until_none_runs(server.host)


async def _until_none_runs(host: str) -> None:
    """Wait until the killed processes are gone; the server hangs for longer."""
    async with asyncio.timeout(2):
        while _running(host):
            await asyncio.sleep(0.01)


def _running(host: str) -> list[str]:
    commands = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(process.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return [command for command in commands if host in command and "git" in command]


async def test_git_configuration_of_the_machine_is_ignored(server: GitServer, monkeypatch, tmp_path: Path) -> None:
    """helpers, URL rewriting, hooks, environment."""
    marker = tmp_path / "marker"
    (tmp_path / ".gitconfig").write_text(
        f'[credential]\n\thelper = "!touch {marker}"\n[url "http://127.0.0.1:1/"]\n\tinsteadOf = http://\n'
        f"[core]\n\tfsmonitor = touch {marker}\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "url.http://127.0.0.1:1/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "http://")
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {marker}")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    commit = server.push("acme/agents/tools", a_repository("pdf"))
    assert (await Git().resolve(tools_of(server)))[1] == commit
    assert await fetch_commit(Git(), tools_of(server), commit, LIMITS)
    server.intercept = answering(401, **{"WWW-Authenticate": 'Basic realm="x"'})
    assert await error_of(Git().resolve(tools_of(server)), NotFound) == "source_not_found"
    assert not marker.exists()


async def test_missing_git_is_reported(server: GitServer, monkeypatch) -> None:
    monkeypatch.setattr("assay.git.command.shutil.which", lambda _: None)
    with pytest.raises(Unavailable) as raised:
        await Git().resolve(tools_of(server))
    assert (raised.value.code, "install git" in raised.value.message) == ("git_missing", True)


async def test_git_without_address_pinning_is_rejected(server: GitServer, monkeypatch) -> None:
    """it would resolve the name again."""
    monkeypatch.setattr("assay.git.client.OLDEST_VERSION", (99, 0))
    assert await error_of(Git().resolve(tools_of(server)), Unavailable) == "git_missing"
    assert server.requests == []


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "fe80::1",
        "fd00::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:7f00:1::",
    ],
)
async def test_name_resolving_to_a_private_address_is_rejected(monkeypatch, address: str) -> None:
    """also among others."""

    async def lie(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(0, 0, 0, "", (found, 443)) for found in ("93.184.216.34", address)]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", lie)
    assert (
        await error_of(Git().resolve(repository_on_server("git.example.org", ["acme", "tools"])), Refused)
        == "private_address"
    )


async def test_git_connects_to_the_checked_address(server: GitServer, monkeypatch) -> None:
    """against DNS rebinding."""
    looked_up = []

    async def found(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        looked_up.append(host)
        return [(0, 0, 0, "", ("127.0.0.1", 0))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", found)
    commit = server.push("acme/tools", a_repository("pdf"))
    name = repository_on_server(f"nobody-knows-this.invalid:{server.port}", ["acme", "tools"])
    assert (await Git().resolve(name))[1] == commit
    assert looked_up == ["nobody-knows-this.invalid"]
