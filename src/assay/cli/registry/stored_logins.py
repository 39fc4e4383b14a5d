"""The tokens that `assay login` keeps: one per registry URL, in a file that only the user can read."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from urllib.parse import urlsplit

import msgspec

from assay import settings
from assay.model.errors import Invalid

FILE = "credentials.json"
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class StoredLogin(msgspec.Struct, frozen=True, rename="camel"):
    """The token of an account. `login` and `expires_at` are copies for messages; the registry decides.

    `is_created`: `assay login` created the token, so nothing else uses it.
    """

    token: str
    login: str
    expires_at: datetime | None = None
    is_created: bool = False

    def __repr__(self) -> str:
        return f"StoredLogin(login={self.login!r})"


class _Document(msgspec.Struct, frozen=True):
    registries: dict[str, StoredLogin] = {}


def find_login(base_url: str) -> StoredLogin | None:
    """Return the login for a registry. Raises Invalid if the file cannot be read."""
    folder = settings.user_config_folder()
    return _read(folder / FILE).get(_key(base_url)) if folder is not None else None


def save_login(base_url: str, login: StoredLogin) -> Path:
    """Store or replace the login for a registry, and return the file. Raises Invalid if it cannot be written."""
    with _changing() as (file, logins):
        logins[_key(base_url)] = login
    return file


def forget_login(base_url: str) -> None:
    """Remove the login for a registry, if there is one. Raises Invalid if the file cannot be written."""
    with _changing() as (_, logins):
        logins.pop(_key(base_url), None)


def _key(base_url: str) -> str:
    """Return one text for all ways to write the same URL, without a user name and password."""
    parts = urlsplit(base_url)
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(DEFAULT_PORTS.get(parts.scheme, ""))
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def _read(file: Path) -> dict[str, StoredLogin]:
    try:
        return dict(msgspec.json.decode(file.read_bytes(), type=_Document).registries)
    except FileNotFoundError:
        return {}
    except OSError as problem:
        raise Invalid(f"The logins in {str(file)!r} cannot be read: {problem.strerror}.", code="bad_logins") from None
    except msgspec.MsgspecError:
        message = f"{str(file)!r} is damaged: delete it, and run `assay login` again for each registry."
        raise Invalid(message, code="bad_logins") from None


@contextmanager
def _changing() -> Iterator[tuple[Path, dict[str, StoredLogin]]]:
    """Yield the file and its logins, and write them back. A lock keeps the changes of concurrent commands."""
    folder = settings.user_config_folder()
    if folder is None:
        raise Invalid("There is no home directory to store a login in: set XDG_CONFIG_HOME.", code="bad_logins")
    try:
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        folder.chmod(PRIVATE_FOLDER)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            logins = _read(folder / FILE)
            yield folder / FILE, logins
            _write(folder / FILE, logins)
        finally:
            os.close(lock)
    except OSError as problem:
        message = f"The login cannot be stored in {str(folder / FILE)!r}: {problem.strerror}."
        raise Invalid(message, code="bad_logins") from None


def _write(file: Path, logins: dict[str, StoredLogin]) -> None:
    """Replace the file in one step: a reader sees the old or the new content."""
    draft = file.with_name(f".{file.name}.{token_hex(4)}")
    opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    try:
        with os.fdopen(opened, "wb") as written:
            written.write(msgspec.json.format(msgspec.json.encode(_Document(logins)), indent=2) + b"\n")
            written.flush()
            os.fsync(written.fileno())
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
