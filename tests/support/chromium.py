"""A browser for the tests: the installed one, the distribution's, or Playwright's. Run `python -m
tests.support.chromium` to install it.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find() -> str | None:
    """Return the path of the browser."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def install() -> bool:
    """Install Debian's package as root, otherwise Playwright's, and return whether a browser is available."""
    print("Installing a browser for the browser tests …", file=sys.stderr)
    if os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-qq", *command], env=environment, stdout=subprocess.DEVNULL, check=True)
        return find() is not None
    return subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"]).returncode == 0


if __name__ == "__main__" and not (find() or install()):
    sys.exit("The browser tests need Chromium: install it, so that `chromium` is on the PATH.")
