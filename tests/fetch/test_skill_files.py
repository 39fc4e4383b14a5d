"""Extracting one skill folder from an archive."""

import io
import tarfile
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.fetch.archive import Archive, unpack_tar
from assay.fetch.limits import Limits
from assay.fetch.skill_files import extract_skill, paths_of_skill
from assay.model.errors import Invalid, NotFound
from tests.support.archives import a_tar, an_odd_member
from tests.support.skills import a_repository, a_skill


def archive_of(files: dict[str, str | bytes], *odd: tarfile.TarInfo) -> Archive:
    """Return an archive of these files and members."""
    return unpack_tar(io.BytesIO(a_tar(files, *odd)), Limits(), strip_root=False)


def refusal(archive: Archive, skill_path: str, **limits: int) -> Invalid:
    """Return the reason of the rejection."""
    with pytest.raises(Invalid) as refused:
        paths_of_skill(archive, skill_path, Limits(**limits))
    return refused.value


def test_paths_are_relative_to_the_skill() -> None:
    archive = archive_of(
        {
            "README.md": "no",
            "skills/pdf/SKILL.md": a_skill("pdf"),
            "skills/pdf/scripts/run.py": "print()",
            "skills/pdf-extra/SKILL.md": "no",
            "skills/csv/SKILL.md": "no",
        }
    )
    paths = paths_of_skill(archive, "skills/pdf/SKILL.md", Limits())
    source = extract_skill(archive, paths, "skills/pdf/SKILL.md", "abc")
    assert source.files == {"SKILL.md": a_skill("pdf").encode(), "scripts/run.py": b"print()"}
    assert source.commit == "abc"


def test_nested_skills_are_excluded() -> None:
    archive = archive_of(
        {
            "SKILL.md": a_skill("all"),
            "tools/run.py": "",
            "skills/pdf/SKILL.md": a_skill("pdf"),
            "skills/pdf/deep/er.md": "",
            "skills/shared.md": "",
            "skills/pdfx.md": "",
        }
    )
    assert paths_of_skill(archive, "SKILL.md", Limits()) == [
        "SKILL.md",
        "skills/pdfx.md",
        "skills/shared.md",
        "tools/run.py",
    ]
    assert paths_of_skill(archive, "skills/pdf/SKILL.md", Limits()) == ["skills/pdf/SKILL.md", "skills/pdf/deep/er.md"]


NAMES = st.sampled_from(["a", "b", "ab", "a-", "SKILL.md", "x.md"])


@settings(deadline=None)
@given(st.sets(st.lists(NAMES, min_size=1, max_size=4).map("/".join), max_size=12))
def test_file_belongs_to_the_innermost_skill(paths: set[str]) -> None:
    files = {path for path in paths if not any(other.startswith(f"{path}/") for other in paths)}
    archive = archive_of(dict.fromkeys(files, ""))
    skills = [path for path in files if path.rpartition("/")[2] == "SKILL.md"]
    for skill in skills:
        own = set(paths_of_skill(archive, skill, Limits()))
        assert own == {path for path in files if nearest(path, skills) == skill}


def nearest(path: str, skills: list[str]) -> str | None:
    """Return the innermost skill that contains the path."""
    around = [skill for skill in skills if path.startswith(skill.removesuffix("SKILL.md"))]
    return max(around, key=len, default=None)


def test_wrong_path_lists_the_right_ones() -> None:
    """G38."""
    archive = archive_of(a_repository("a", "b", "c", "d", "e", "f", "g"))
    with pytest.raises(NotFound) as missing:
        paths_of_skill(archive, "SKILL.md", Limits())
    assert missing.value.code == "skill_not_in_source"
    assert missing.value.message == (
        "The repository has no SKILL.md. It has skills/a/SKILL.md, skills/b/SKILL.md, skills/c/SKILL.md, "
        "skills/d/SKILL.md, skills/e/SKILL.md and 2 more."
    )


def test_repository_without_skills() -> None:
    archive = archive_of({"README.md": "# Politics", "skill.md": a_skill()})
    with pytest.raises(NotFound, match="It contains no"):
        paths_of_skill(archive, "SKILL.md", Limits())


def test_link_in_the_folder_is_rejected() -> None:
    link = an_odd_member("skills/pdf/config", tarfile.SYMTYPE, "/etc/passwd")
    archive = archive_of(a_repository("pdf", "csv"), link)
    problem = refusal(archive, "skills/pdf/SKILL.md")
    assert problem.code == "unsafe_file"
    assert "'skills/pdf/config' cannot be included: it is a link" in problem.message
    assert paths_of_skill(archive, "skills/csv/SKILL.md", Limits())


def test_link_in_a_nested_skill_is_ignored() -> None:
    archive = archive_of(
        {"SKILL.md": a_skill(), "sub/SKILL.md": a_skill()}, an_odd_member("sub/link", tarfile.SYMTYPE, "x")
    )
    assert paths_of_skill(archive, "SKILL.md", Limits()) == ["SKILL.md"]
    assert refusal(archive, "sub/SKILL.md").code == "unsafe_file"


def test_skill_md_must_be_a_file() -> None:
    archive = archive_of({"README.md": ""}, an_odd_member("SKILL.md", tarfile.SYMTYPE, "README.md"))
    with pytest.raises(NotFound):
        paths_of_skill(archive, "SKILL.md", Limits())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Run.py", "run.py"),
        ("a/x.md", "A/x.md"),
        ("straße.md", "STRASSE.md"),
        (unicodedata.normalize("NFC", "é.md"), unicodedata.normalize("NFD", "é.md")),
    ],
)
def test_colliding_names_are_rejected(first: str, second: str) -> None:
    """on case-insensitive file systems only one would exist."""
    problem = refusal(archive_of({"SKILL.md": a_skill(), first: "a", second: "b"}), "SKILL.md")
    assert problem.code == "unsafe_file"
    assert repr(first) in problem.message
    assert repr(second) in problem.message


@pytest.mark.parametrize(("file", "below"), [("a", "a/b.md"), ("A", "a/b.md"), ("x/a", "x/A/b/c.md")])
def test_file_that_is_also_a_folder_is_rejected(file: str, below: str) -> None:
    assert refusal(archive_of({"SKILL.md": a_skill(), file: "", below: ""}), "SKILL.md").code == "unsafe_file"


def test_each_limit_is_named() -> None:
    """G39."""
    archive = archive_of({"SKILL.md": "x" * 100, "a.md": "x" * 60, "b.md": ""})
    large = unpack_tar(io.BytesIO(a_tar({"SKILL.md": "x" * 100})), Limits(file_bytes=99), strip_root=False)
    file, files, total = (
        refusal(large, "SKILL.md", file_bytes=99),
        refusal(archive, "SKILL.md", skill_files=2),
        refusal(archive, "SKILL.md", skill_bytes=159),
    )
    assert (file.code, file.message) == ("file_too_large", "SKILL.md has 100 bytes; the limit is 99.")
    assert (files.code, files.message) == ("skill_too_large", "The skill has 3 files; the limit is 2.")
    assert (total.code, total.message) == ("skill_too_large", "The skill has 160 bytes; the limit is 159.")
    assert len(paths_of_skill(archive, "SKILL.md", Limits(skill_files=3, skill_bytes=160))) == 3


def test_large_file_elsewhere_is_ignored() -> None:
    files = {**a_repository("pdf"), "video.mp4": bytes(2_000_000)}
    archive = unpack_tar(io.BytesIO(a_tar(files)), Limits(), strip_root=False)
    assert paths_of_skill(archive, "skills/pdf/SKILL.md", Limits()) == ["skills/pdf/SKILL.md"]
