"""Skills on disk and custom rules for tests of `assay scan`."""

from pathlib import Path

from tests.support.cli.here import assay_here

RULE = """
family = "house_rules"

[[rule]]
id = "HR-001"
title = "The word is xyzzy"
severity = "{severity}"
confidence = 1.0
patterns = ['xyzzy']
rationale = "Nobody says that any more."
remediation = "Say something else."
references = ["CWE-78", "LLM01:2025"]
replaces = ["OLD-7"]
bad = "xyzzy"
benign = "plugh"
"""


def written(folder: Path, files: dict[str, str]) -> Path:
    """Write these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def below(folder: str, files: dict[str, str]) -> dict[str, str]:
    """Return the same files in a folder."""
    return {f"{folder}/{path}": text for path, text in files.items()}


def rules(folder: Path, severity: str = "low") -> Path:
    """Write a custom ruleset with one rule."""
    return written(folder / "house-rules", {"house.toml": RULE.format(severity=severity)})


def skills_of(*arguments: str | Path) -> dict[str, dict[str, object]]:
    """Return the scanned skills by location."""
    return {skill["place"]: skill for skill in assay_here("scan", "--format", "json", *arguments).json["skills"]}
