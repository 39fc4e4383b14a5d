"""A folder with the files of many skills for a tool: read-only, neutrally named, and without suppression comments."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CANARY = "canary"
# File kinds by suffix. Files get neutral names because tools skip paths such as `tests` or `example`, obey files such
# as `.semgrepignore`, and read configuration from files with certain names.
KINDS = {
    **{suffix: suffix for suffix in ("py", "js", "ts", "tsx", "jsx", "sh", "rb", "go", "php", "java", "rs", "c", "cs")},
    **{suffix: suffix for suffix in ("json", "yml", "yaml", "toml", "html", "xml", "md", "env", "pem", "key", "ini")},
    **{
        suffix: suffix for suffix in ("ejs", "hbs", "pug", "vue", "ps1", "lua", "pl", "sql", "tf", "txt", "cfg", "conf")
    },
    "mjs": "js",
    "cjs": "js",
    "mts": "ts",
    "cts": "ts",
    "pyw": "py",
    "bash": "sh",
    "zsh": "sh",
    "htm": "html",
    "markdown": "md",
}
UNKNOWN = "txt"
SHEBANG = re.compile(rb"\A(?:\xef\xbb\xbf)?#![^\n]{0,200}?\b(python|node|deno|bun|bash|zsh|dash|sh)[\d.]*\b")
INTERPRETERS = {b"python": "py", b"node": "js", b"deno": "ts", b"bun": "ts"}
# Comments that make a tool skip a line. They are replaced by text of the same length to keep positions.
SUPPRESSION_COMMENTS = re.compile(
    rb"nosem|njsscan-ignore|(?:kingfisher|trufflehog|gitleaks|betterleaks):(?:ignore|allow)", re.I
)


@dataclass(frozen=True)
class SkillFiles:
    """The files of a skill."""

    digest: str
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Workspace:
    """The folder, and the skill and path that each of its files stands for."""

    folder: Path
    scratch: Path
    files: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, folder_name: str, skill: SkillFiles, wanted: Callable[[str], bool]) -> int:
        """Write the wanted files of a skill; return their number."""
        before = len(self.files)
        (self.folder / folder_name).mkdir()
        for number, (path, content) in enumerate(sorted(skill.files.items())):
            kind = kind_of(path, content)
            if not wanted(kind):
                continue
            name = f"{folder_name}/f{number}.{kind}"
            self.files[name] = (skill.digest, path)
            written = self.folder / name
            written.write_bytes(SUPPRESSION_COMMENTS.sub(lambda found: b"x" * len(found[0]), content))
            written.chmod(0o444)
        return len(self.files) - before


def kind_of(path: str, content: bytes) -> str:
    """Return the kind of a file by its suffix, or else by its shebang line."""
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower() if "." in path.rpartition("/")[2] else ""
    if suffix in KINDS and suffix != UNKNOWN:
        return KINDS[suffix]
    shebang = SHEBANG.match(content)
    return INTERPRETERS.get(shebang[1], "sh") if shebang else UNKNOWN


def has_kind(files: Mapping[str, bytes], wanted: Callable[[str], bool]) -> bool:
    return any(wanted(kind_of(path, content)) for path, content in files.items())


def numbered_folders(skills: Sequence[SkillFiles]) -> list[tuple[str, SkillFiles]]:
    """Return a neutral folder name for each skill."""
    return [(f"s{number}", skill) for number, skill in enumerate(skills)]
