"""Put the scan tools into a virtual environment of their own.

python -m assay.deepscan.install [FOLDER]

Their pins are not those of Assay, so they cannot share its environment. Versions and hashes are in `requirements.lock`.
"""

import subprocess
import sys
import venv
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

from assay.model.errors import Unavailable

LOCK = "requirements.lock"
# The lock that an environment was made from, kept beside it: what is up to date is not installed again.
STAMP = "installed.lock"
QUIET = ("--quiet", "--disable-pip-version-check", "--no-input")


def default_folder() -> Path:
    """Beside the environment that Assay itself runs in, so that everybody who runs it finds the same tools."""
    return Path(sys.prefix) / "deepscan"


def is_installed(folder: Path) -> bool:
    """Whether the tools are there, in the versions of this release."""
    stamp = folder / STAMP
    return stamp.is_file() and stamp.read_bytes() == _lock()


def install(folder: Path) -> bool:
    """Make or renew the environment; False if nothing was to be done. Raises Unavailable if it cannot be done."""
    if is_installed(folder):
        return False
    # The pip of this environment, if it has one: the one that a new environment gets is as old as Python.
    has_pip = find_spec("pip") is not None
    venv.create(folder, with_pip=not has_pip, clear=True)
    python = str(folder / "bin" / "python")
    pip = (sys.executable, "-m", "pip", "--python", python) if has_pip else (python, "-m", "pip")
    with as_file(files("assay.deepscan").joinpath(LOCK)) as lock:
        command = [*pip, "install", *QUIET, "--require-hashes", "-r", str(lock)]
        ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode:
        said = ended.stderr.strip().splitlines()[-1:] or ["pip gave no reason"]
        raise Unavailable(f"The scan tools cannot be installed: {said[0]}", code="tools_not_installed")
    (folder / STAMP).write_bytes(_lock())
    return True


def _lock() -> bytes:
    return files("assay.deepscan").joinpath(LOCK).read_bytes()


if __name__ == "__main__":
    install(Path(sys.argv[1]) if len(sys.argv) > 1 else default_folder())
