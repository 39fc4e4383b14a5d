"""A browser for the tests: the one that is there, or the distribution's, installed when we may.

python -m tests.browser.chromium
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find() -> str | None:
    """Where the browser is."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def install() -> str | None:
    """Debian's package, as root."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    print("Installing chromium for the browser tests …", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        subprocess.run(["apt-get", "-qq", *command], env=environment, stdout=subprocess.DEVNULL, check=True)
    return find()


if __name__ == "__main__" and not (find() or install()):
    sys.exit("The browser tests need Chromium: install it, so that `chromium` is on the PATH.")
