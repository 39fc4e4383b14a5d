"""Settings: contract, errors and secrets."""

import ast
import json
import stat
from pathlib import Path

import pytest
from pydantic import SecretStr

from assay.model.account import SubmitPolicy
from assay.model.errors import Invalid
from assay.settings import SECRET_FIELDS, Settings, variable_name, with_secrets
from tests.support.registry import SECRET

CONTRACT = {
    "ASSAY_DATA_DIR": Path("data"),
    "ASSAY_DATABASE_URL": None,
    "ASSAY_HOST": "127.0.0.1",
    "ASSAY_PORT": 8000,
    "ASSAY_PUBLIC_URL": None,
    "ASSAY_INTERNAL_KEY": None,
    "ASSAY_JWT_SECRET": None,
    "ASSAY_TOKEN": None,
    "ASSAY_WEBHOOK_SECRET": None,
    "ASSAY_GITHUB_TOKENS": (),
    "ASSAY_GIT_HOSTS": ("gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com"),
    "ASSAY_ARCHIVE_CACHE_MB": 1024,
    "ASSAY_GITHUB_APP_ID": None,
    "ASSAY_GITHUB_APP_KEY_FILE": None,
    "ASSAY_GITHUB_APP_INSTALLATIONS": (),
    "ASSAY_GITHUB_API_URL": "https://api.github.com",
    "ASSAY_GITHUB_RAW_URL": "https://raw.githubusercontent.com",
    "ASSAY_GITHUB_CODELOAD_URL": "https://codeload.github.com",
    "ASSAY_GITHUB_WEB_URL": "https://github.com",
    "ASSAY_INTERNAL_KEY_PREVIOUS": None,
    "ASSAY_OAUTH_CLIENT_ID": None,
    "ASSAY_OAUTH_CLIENT_SECRET": None,
    "ASSAY_ADMIN_LOGINS": (),
    "ASSAY_WORKER_BATCH": 10,
    "ASSAY_WORKER_CONCURRENCY": 20,
    "ASSAY_FAST_APPROVE_THRESHOLD": 75,
    "ASSAY_LLM_URL": None,
    "ASSAY_LLM_MODEL": None,
    "ASSAY_LLM_API_KEY": None,
    "ASSAY_LLM_DAILY_BUDGET": 5.0,
    "ASSAY_LLM_PROMPT_PRICE": 0.0,
    "ASSAY_LLM_COMPLETION_PRICE": 0.0,
    "ASSAY_LLM_TIMEOUT_SECONDS": 60.0,
    "ASSAY_LLM_WINDOW_TOKENS": 32_000,
    "ASSAY_LLM_CONCURRENCY": 8,
    "ASSAY_LLM_PAUSE_SECONDS": 30,
    "ASSAY_LLM_PATIENCE_SECONDS": 21_600,
    "ASSAY_HALLMARK_KEY_FILE": None,
    "ASSAY_OMS_KEY_FILE": None,
    "ASSAY_TRUSTED_PUBLISHERS": (),
    "ASSAY_STUCK_SECONDS": 300,
    "ASSAY_STUCK_RECEIVED_SECONDS": None,
    "ASSAY_OLDEST_WAITING_SECONDS": 3600,
    "ASSAY_WATCH_SECONDS": 21_600,
    "ASSAY_GITHUB_WEBHOOK_SECRET": None,
    "ASSAY_DISCOVERY": False,
    "ASSAY_DISCOVERY_SOURCES": (
        "code-search",
        "topics",
        "organisations",
        "events",
        "npm",
        "marketplaces",
        "registries",
        "list",
    ),
    "ASSAY_DISCOVERY_TOPICS": ("agent-skills", "agent-skill", "claude-skills", "claude-code-skills", "skill-md"),
    "ASSAY_DISCOVERY_ORGANISATIONS": (),
    "ASSAY_DISCOVERY_NPM_URL": None,
    "ASSAY_DISCOVERY_NPM_KEYWORDS": ("agent-skills", "agent-skill", "claude-skill"),
    "ASSAY_DISCOVERY_REGISTRIES": (),
    "ASSAY_DISCOVERY_LIST": None,
    "ASSAY_DISCOVERY_KNOWN": (),
    "ASSAY_DISCOVERY_MAX_RESULTS": 5_000,
    "ASSAY_DISCOVERY_CALLS": 1_000,
    "ASSAY_DISCOVERY_EVERY_SECONDS": 21_600,
    "ASSAY_DISCOVERY_FLOOR_SECONDS": 172_800,
    "ASSAY_DISCOVERY_PRIVATE_ADDRESSES": False,
    "ASSAY_DEEP_SCAN_TOOLS": ("semgrep", "njsscan", "kingfisher"),
    "ASSAY_DEEP_SCAN_LEASE_SECONDS": 120,
    "ASSAY_DEEP_SCAN_WAITING_SECONDS": 3600,
    "ASSAY_DEEP_SCAN_DIR": None,
    "ASSAY_REPORT_HOURS": 24,
    "ASSAY_REVIEW_HOURS": 168,
    "ASSAY_BLOBS_URL": None,
    "ASSAY_EDGE_URL": SecretStr("lmdb:"),
    "ASSAY_LEASE_SECONDS": 30,
    "ASSAY_ENQUEUE_CHUNK": 100,
    "ASSAY_RULESET": None,
    "ASSAY_SCAN_PROCESSES": None,
    "ASSAY_RETRY_SECONDS": 30,
    "ASSAY_SUBMIT": SubmitPolicy.ANYONE,
    "ASSAY_UPLOAD_QUOTA_BYTES": 1024**3,
    "ASSAY_TRUSTED_PROXIES": (),
    "ASSAY_LIMIT_READS": 1_200,
    "ASSAY_LIMIT_WRITES": 600,
    "ASSAY_LIMIT_WRITES_ANONYMOUS": 120,
    "ASSAY_LIMIT_SKILLS": 5_000,
    "ASSAY_LIMIT_SKILLS_ANONYMOUS": 500,
    "ASSAY_LIMIT_DISCOVER": 300,
    "ASSAY_LIMIT_DISCOVER_ANONYMOUS": 60,
    "ASSAY_LIMIT_UPLOADS": 300,
    "ASSAY_LIMIT_CLAIMS": 30,
    "ASSAY_LIMIT_RESCANS": 20,
    "ASSAY_LIMIT_APPEALS": 10,
    "ASSAY_LIMIT_REPORTS": 20,
    "ASSAY_LIMIT_REPORTS_ANONYMOUS": 5,
    "ASSAY_LIMIT_OPEN_REPORTS_ANONYMOUS": 100,
    "ASSAY_LIMIT_INSTALLS": 500,
    "ASSAY_LIMIT_SIGN_IN": 5,
    "ASSAY_LIMIT_SIGN_IN_ADDRESS": 50,
    "ASSAY_LIMIT_TOKEN_PERCENT": 80,
}


def test_names_and_defaults() -> None:
    """G23, G42."""
    settings = Settings.from_mapping({})
    shown = {variable_name(name): getattr(settings, name) for name in Settings.model_fields}
    assert shown == CONTRACT


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("worker_batch", "101"),
        ("worker_concurrency", "1"),
        ("port", "70000"),
        ("limit_skills", "-1"),
        ("limit_token_percent", "101"),
        ("trusted_proxies", "nginx"),
        ("trusted_proxies", "10.0.0.1/8"),
    ],
)
def test_limits_are_checked_at_start(name: str, value: str) -> None:
    """G92."""
    with pytest.raises(Invalid, match=variable_name(name)):
        Settings.from_mapping({variable_name(name): value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("discovery_sources", "code-search,everything"),
        ("discovery_topics", "agent-skills stars:>1"),
        ("discovery_organisations", "../users"),
        ("discovery_registries", "https://skills.example.com"),
        ("discovery_registries", "well-known+https://user@skills.example.com"),
        ("discovery_known", "owner"),
        ("discovery_max_results", "5001"),
        ("github_webhook_secret", "too-short"),
    ],
)
def test_discovery_settings_are_checked_at_start(name: str, value: str) -> None:
    """G85, G92."""
    with pytest.raises(Invalid, match=variable_name(name)):
        Settings.from_mapping({variable_name(name): value})


def test_secrets_are_not_printed() -> None:
    settings = Settings.from_mapping(
        {
            "ASSAY_JWT_SECRET": SECRET,
            "ASSAY_GITHUB_TOKENS": "ghp_first, ghp_second",
            "ASSAY_INTERNAL_KEY": SECRET,
            "ASSAY_INTERNAL_KEY_PREVIOUS": SECRET,
            "ASSAY_OAUTH_CLIENT_ID": "client",
            "ASSAY_OAUTH_CLIENT_SECRET": SECRET,
        }
    )
    assert [token.get_secret_value() for token in settings.github_tokens] == ["ghp_first", "ghp_second"]
    for shown in (repr(settings), str(settings), settings.model_dump_json()):
        assert SECRET not in shown
        assert "ghp_" not in shown
    with pytest.raises(Invalid) as refused:
        Settings.from_mapping({"ASSAY_JWT_SECRET": "too-short-but-secret"})
    assert "too-short-but-secret" not in str(refused.value)


def test_secrets_are_generated_once_and_private(tmp_path: Path) -> None:
    settings = Settings.from_mapping({"ASSAY_DATA_DIR": str(tmp_path)})
    first, second = with_secrets(settings), with_secrets(settings)
    assert first == second
    assert all(len(getattr(first, name).get_secret_value()) >= 32 for name in SECRET_FIELDS)
    file = tmp_path / "secrets.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert set(json.loads(file.read_text())) == set(SECRET_FIELDS)


def test_environment_overrides_the_file() -> None:
    """unknown names in the file are reported."""
    assert Settings.from_mapping({"ASSAY_PORT": "81"}, {"port": 80, "host": "::1"}).base_url == "http://[::1]:81"
    with pytest.raises(Invalid, match="prot: there is no such setting"):
        Settings.from_mapping({}, {"prot": 80})


def test_only_settings_reads_the_environment() -> None:
    """G91."""
    source = Path(__file__).parents[2] / "src" / "assay"
    guilty = []
    for file in source.rglob("*.py"):
        if file == source / "settings" / "settings.py" or "examples" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "name", None)
            if name in ("environ", "getenv", "environb"):
                guilty.append(str(file))
    assert guilty == []


@pytest.mark.parametrize("url", ["redis:", "redis://", "mysql://host", "lmdb:relative", "redis://host/name", "lmdb"])
def test_edge_url_is_a_folder_or_a_server(url: str) -> None:
    with pytest.raises(Invalid, match="ASSAY_EDGE_URL: must be lmdb:"):
        Settings.from_mapping({"ASSAY_EDGE_URL": url})


def test_edge_password_is_not_printed() -> None:
    settings = Settings.from_mapping({"ASSAY_EDGE_URL": "rediss://me:hidden@cache:6380/2"})
    assert "hidden" not in repr(settings)
