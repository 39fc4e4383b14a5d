"""The pages of one version, of one of its files, and of two versions side by side."""

from typing import Annotated

from litestar import get
from litestar.params import FromPath, QueryParameter
from litestar.response import Template

from assay.serve.versions.compare import text_of
from assay.serve.versions.versions import LATEST, read_version, read_versions
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay
from assay.web.http.present import commit_url
from assay.web.skills.pages import capabilities_of, scan_of
from assay.web.versions.api import compare as compare_two
from assay.web.versions.files import file_at, find_files
from assay.web.versions.present import compare_url

NAME = "/skills/{owner:str}/{repo:str}/{skill:str}"
# Of a file so much is shown; the rest is in the file itself.
SHOWN_CHARACTERS = 200_000
CHOICES = 100


@get(f"{NAME}/versions/{{version:str}}", opt=PUBLIC, include_in_schema=False)
async def version(
    assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str], version: FromPath[str]
) -> Template:
    """One version: its files, what was found in it, and why it was taken back if it was."""
    async with assay.store.snapshot() as db:
        detail = await read_version(db, f"{owner}/{repo}/{skill}", version)
    context = {
        "detail": detail,
        "skill": detail.skill,
        "release": detail.version,
        "scan": scan_of(detail.scans, 1),
        "judgement": scan_of(detail.scans, 2),
        "has_judge": assay.settings.llm_url is not None,
        "capabilities": capabilities_of(detail.scans),
        "commit_url": commit_url(detail.skill.repository, detail.version.commit, assay.settings.github_web_url),
    }
    return Template("versions/version.html", context=context)


@get(f"{NAME}/versions/{{version:str}}/files/{{path:path}}", opt=PUBLIC, include_in_schema=False)
async def file(
    assay: Assay,
    owner: FromPath[str],
    repo: FromPath[str],
    skill: FromPath[str],
    version: FromPath[str],
    path: FromPath[str],
) -> Template:
    """One file, as text."""
    listing, found, files = await find_files(assay, f"{owner}/{repo}/{skill}", version)
    chosen = file_at(files, path)
    text = text_of(await assay.blobs.read_file(found.content_digest, chosen.path))
    context = {
        "skill": listing,
        "release": found,
        "file": chosen,
        "files": files,
        "text": text[:SHOWN_CHARACTERS] if text is not None else None,
        "is_cut": text is not None and len(text) > SHOWN_CHARACTERS,
    }
    return Template("versions/file.html", context=context)


@get(f"{NAME}/compare", opt=PUBLIC, include_in_schema=False)
async def compare(
    assay: Assay,
    owner: FromPath[str],
    repo: FromPath[str],
    skill: FromPath[str],
    before: Annotated[str, QueryParameter(name="from", max_length=100)],
    after: Annotated[str, QueryParameter(name="to", max_length=100)] = LATEST,
) -> Template:
    """Two versions: what the newer one reaches for, and every file that differs."""
    wanted = f"{owner}/{repo}/{skill}"
    pair, changes = await compare_two(assay, wanted, before, after)
    async with assay.store.snapshot() as db:
        page = await read_versions(db, pair.skill.name, cursor=None, limit=CHOICES)
    context = {
        "skill": pair.skill,
        "pair": pair,
        "changes": changes,
        "versions": [each for each in page.versions if each.status.value != "withdrawn"],
        "compare_url": compare_url(pair, assay.settings.github_web_url),
    }
    return Template("versions/compare.html", context=context)
