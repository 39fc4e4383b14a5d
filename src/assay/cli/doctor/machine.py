"""What the doctor sees without a database: settings, secrets, the data directory, the web process."""

import os
import shutil
from collections.abc import Iterator
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import msgspec

from assay.cli.doctor.check import Check, ill, odd, unknown, well
from assay.settings import SECRET_FIELDS, Settings

LITTLE_BYTES = 2 * 1024**3
ANSWER_SECONDS = 5
LARGEST_ANSWER = 1024 * 1024


def check_machine(settings: Settings) -> Iterator[Check]:
    """Everything on this machine, one after the other."""
    yield _secrets(settings)
    yield _data_directory(settings)
    yield _web(settings)


def _secrets(settings: Settings) -> Check:
    missing = [f"ASSAY_{name.upper()}" for name in SECRET_FIELDS if getattr(settings, name) is None]
    if missing:
        return ill("secrets", f"{', '.join(missing)}: not set", "Set them, or let `assay up` make them.")
    return well("secrets", "all are there")


def _data_directory(settings: Settings) -> Check:
    folder = settings.data_dir
    if not folder.exists():
        return odd("data directory", f"{folder} does not exist yet", "`assay up` makes it.")
    if not os.access(folder, os.W_OK | os.X_OK):
        return ill("data directory", f"{folder} cannot be written to", "Give it to the user who runs Assay.")
    free = shutil.disk_usage(folder).free
    if free < LITTLE_BYTES:
        return ill("data directory", f"only {free / 1024**2:,.0f} MB are free", "Make room: PostgreSQL stops without.")
    return well("data directory", f"{folder}, {free / 1024**3:,.0f} GB free")


def _web(settings: Settings) -> Check:
    """Over HTTP, as its users see it."""
    url = f"{settings.base_url}/readyz"
    advice = "Start `assay up` or `assay web`, or correct ASSAY_PUBLIC_URL."
    try:
        with urlopen(url, timeout=ANSWER_SECONDS) as answer:  # noqa: S310 - the address is a setting of ours
            answer.read(LARGEST_ANSWER)
    except HTTPError as problem:
        return ill("web", f"{url} answers {problem.code}: {_told(problem)}", "See what is not ready.")
    except (URLError, TimeoutError, OSError) as problem:
        return odd("web", f"{url} does not answer: {getattr(problem, 'reason', problem)}", advice)
    except ValueError as problem:
        return unknown("web", str(problem))
    return well("web", f"{settings.base_url} is ready")


def _told(problem: HTTPError) -> str:
    try:
        checks = msgspec.json.decode(problem.read(LARGEST_ANSWER))["checks"]
        return "; ".join(f"{check['name']}: {check['detail']}" for check in checks if not check["ok"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return "no reason is given"
