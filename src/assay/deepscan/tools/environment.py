"""The virtual environment that the tools are installed in."""

from importlib.metadata import distributions
from pathlib import Path


def packages_of(folder: Path) -> Path | None:
    """Where its packages are; None if there is no environment."""
    return next(iter(sorted((folder / "lib").glob("python3*/site-packages"))), None)


def version_of(folder: Path, name: str) -> str | None:
    """The version of a package of it; None if it is not installed."""
    packages = packages_of(folder)
    if packages is None:
        return None
    return next((each.version for each in distributions(name=name, path=[str(packages)])), None)


def variables(folder: Path) -> dict[str, str]:
    """What a program of it needs to find its own."""
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
