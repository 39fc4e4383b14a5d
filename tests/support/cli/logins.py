"""A user of the command line with settings, a data directory and stored logins."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.cli.live import Ran, assay, without_settings
from tests.support.registry import SECRET

TOKEN, OTHER_TOKEN = f"vsk_{'t' * 43}", f"vsk_{'o' * 43}"


@dataclass(frozen=True)
class User:
    """A user whose home is `folder`; `settings` are those of all commands."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def credentials(self) -> Path:
        return self.folder / "config" / "assay" / "credentials.json"

    @property
    def environment(self) -> dict[str, str]:
        folders = {"XDG_CONFIG_HOME": str(self.folder / "config"), "ASSAY_DATA_DIR": str(self.folder / "data")}
        return without_settings(**folders | self.settings)

    def assay(self, *arguments: str, typed: str = "", **variables: str) -> Ran:
        """Run a command."""
        return assay(*arguments, environment=self.environment | variables, typed=typed)

    def at_home_of(self, url: str) -> "User":
        """Return the same user on the machine of this registry."""
        return User(self.folder, self.settings | {"ASSAY_PORT": url.rpartition(":")[2]})

    def with_key(self) -> "User":
        """Create the secrets of a registry in the data directory."""
        (self.folder / "data").mkdir(parents=True, exist_ok=True)
        names = ("internal_key", "jwt_secret", "webhook_secret")
        (self.folder / "data" / "secrets.json").write_text(json.dumps(dict.fromkeys(names, SECRET)))
        return self

    def with_login(self, url: str, token: str = OTHER_TOKEN, **fields: object) -> "User":
        """Store a login."""
        self.credentials.parent.mkdir(parents=True, exist_ok=True)
        login = {"token": token, "login": "alice", "expiresAt": "2031-02-03T04:05:06Z"} | fields
        self.credentials.write_text(json.dumps({"registries": {url: login}}))
        return self


def an_account(login: str = "alice", handle: str | None = "alice", **fields: object) -> dict[str, object]:
    """Return the response of `GET /api/v1/account`."""
    token = {
        "id": "01a1e271-c661-702b-8f3a-f4df29366bd7",
        "label": "laptop",
        "scopes": ["read", "submit", "publish"],
        "namespaces": None,
        "expiresAt": "2031-02-03T04:05:06Z",
    }
    namespaces = [{"name": handle, "kind": "account"}] if handle else []
    return {"login": login, "handle": handle, "role": "USER", "namespaces": namespaces, "token": token} | fields
