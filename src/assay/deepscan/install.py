"""The virtual environment of the scan tools, and its installation.

Usage: python -m assay.deepscan.install [FOLDER]

The tools pin other versions of dependencies than Assay, so they cannot share its environment. Versions and hashes are
in `requirements.lock`.
"""

import subprocess
import sys
import venv
from importlib.metadata import distributions
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

from assay.model.errors import Unavailable

LOCK = "requirements.lock"
# Copy of the lock file that an environment was installed from; an equal one means that it is up to date.
STAMP = "installed.lock"
QUIET = ("--quiet", "--disable-pip-version-check", "--no-input")


def default_folder() -> Path:
    """Return a folder inside the environment of Assay, so that all of its users find the same tools."""
    return Path(sys.prefix) / "deepscan"


def is_installed(folder: Path) -> bool:
    """Return whether the tools are installed in the versions of this release."""
    stamp = folder / STAMP
    return stamp.is_file() and stamp.read_bytes() == _lock()


def install(folder: Path) -> bool:
    """Create or replace the environment; return False if it is up to date. Raises Unavailable if pip fails."""
    if is_installed(folder):
        return False
    # Prefer the pip of this environment: a new environment gets the old one that is bundled with Python.
    has_pip = find_spec("pip") is not None
    venv.create(folder, with_pip=not has_pip, clear=True)
    python = str(folder / "bin" / "python")
    pip = (sys.executable, "-m", "pip", "--python", python) if has_pip else (python, "-m", "pip")
    with as_file(files("assay.deepscan").joinpath(LOCK)) as lock:
        command = [*pip, "install", *QUIET, "--require-hashes", "-r", str(lock)]
        finished = subprocess.run(command, check=False, capture_output=True, text=True)
    if finished.returncode:
        reason = finished.stderr.strip().splitlines()[-1:] or ["pip gave no reason"]
        raise Unavailable(f"The scan tools cannot be installed: {reason[0]}", code="tools_not_installed")
    (folder / STAMP).write_bytes(_lock())
    return True


def site_packages(folder: Path) -> Path | None:
    """Return the packages folder of an environment; None if there is no environment."""
    return next(iter(sorted((folder / "lib").glob("python3*/site-packages"))), None)


def installed_version(folder: Path, name: str) -> str | None:
    """Return the version of a package in an environment; None if it is not installed."""
    packages = site_packages(folder)
    if packages is None:
        return None
    return next((each.version for each in distributions(name=name, path=[str(packages)])), None)


def environment_variables(folder: Path) -> dict[str, str]:
    """Return the variables that programs of an environment need to find each other."""
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}


def _lock() -> bytes:
    return files("assay.deepscan").joinpath(LOCK).read_bytes()


if __name__ == "__main__":
    install(Path(sys.argv[1]) if len(sys.argv) > 1 else default_folder())
