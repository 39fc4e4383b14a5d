"""A folder in which a tool finds many skills: read-only files under names of ours, and no word to make it look away."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CANARY = "canary"
# By the end of a name, or by who is to run it. Names of ours, because tools leave out what is called `tests`, `example`
# or `.semgrepignore`, and read settings from files that are called theirs.
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
RUN_BY = {b"python": "py", b"node": "js", b"deno": "ts", b"bun": "ts"}
# Words by which a file asks a tool to pass over a line. The same length, so that nothing moves.
LOOK_AWAY = re.compile(rb"nosem|njsscan-ignore|(?:kingfisher|trufflehog|gitleaks|betterleaks):(?:ignore|allow)", re.I)


@dataclass(frozen=True)
class Skill:
    """What is looked at: the files of one content."""

    digest: str
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Workplace:
    """The folder, and which file of which skill each of its files is."""

    folder: Path
    scratch: Path
    files: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, place: str, skill: Skill, wanted: Callable[[str], bool]) -> int:
        """Write the files that are wanted; returns how many these are."""
        before = len(self.files)
        (self.folder / place).mkdir()
        for number, (path, content) in enumerate(sorted(skill.files.items())):
            kind = kind_of(path, content)
            if not wanted(kind):
                continue
            name = f"{place}/f{number}.{kind}"
            self.files[name] = (skill.digest, path)
            written = self.folder / name
            written.write_bytes(LOOK_AWAY.sub(lambda said: b"x" * len(said[0]), content))
            written.chmod(0o444)
        return len(self.files) - before


def kind_of(path: str, content: bytes) -> str:
    """What a file is: by its name, or else by its first line."""
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower() if "." in path.rpartition("/")[2] else ""
    if suffix in KINDS and suffix != UNKNOWN:
        return KINDS[suffix]
    said = SHEBANG.match(content)
    return RUN_BY.get(said[1], "sh") if said else UNKNOWN


def has_kind(files: Mapping[str, bytes], wanted: Callable[[str], bool]) -> bool:
    """Whether any of the files is of a kind that is wanted."""
    return any(wanted(kind_of(path, content)) for path, content in files.items())


def places(skills: Sequence[Skill]) -> list[tuple[str, Skill]]:
    """A folder name for each skill."""
    return [(f"s{number}", skill) for number, skill in enumerate(skills)]
