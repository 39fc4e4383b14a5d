"""Files of a version: their list, one file, and all of them as an archive."""

from typing import Any

from litestar import Request, Response, get
from litestar.params import FromPath

from assay.app.app import App
from assay.model.errors import NotFound
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry
from assay.serve.versions.compare import text_of
from assay.serve.versions.versions import choose_version
from assay.store.scans.contents import list_files
from assay.store.skills.names import aliases_of
from assay.web.http.context import Assay, RequestedName
from assay.web.http.degraded import degraded
from assay.web.http.errors import problems, response_spec
from assay.web.http.headers import content_disposition, etag_of, is_cached, not_modified
from assay.web.http.parameters import Params, parameters
from assay.web.versions import degraded as without_database
from assay.web.versions.archives import INERT, ArchiveParameters, VersionArchive, answer_archive
from assay.web.versions.json import FilesView, present_files
from assay.web.versions.naming import located

PROBLEMS = problems(300, 400, 404, 410, 503)
VERSION = "/{owner:str}/{repo:str}/{skill:str}/versions/{version:str}"
TEXT, BYTES = "text/plain", "application/octet-stream"


@get(f"{VERSION}/files", summary="List the files of a version", responses=PROBLEMS)
async def list_version_files(
    assay: Assay, requested_name: RequestedName, version: FromPath[str]
) -> Response[FilesView]:
    """List path, size and SHA-256 of each file, sorted by path, and the aliases of the listing."""
    async with assay.store.snapshot() as db:
        skill, found = await choose_version(db, requested_name, version)
        files, aliases = await list_files(db, found.content_digest), await aliases_of(db, skill.id)
    view = FilesView(
        name=skill.name,
        aliases=aliases,
        version=found.version,
        content_hash=found.content_digest,
        files=present_files(files),
    )
    return located(view, requested_name, skill, f"/versions/{found.version}/files")


@get(
    f"{VERSION}/files/{{path:path}}",
    summary="Get a file of a version",
    responses={200: response_spec(bytes, "The content of the file.", BYTES), **PROBLEMS},
)
async def get_file(
    assay: Assay,
    request: Request[Any, Any, Any],
    requested_name: RequestedName,
    version: FromPath[str],
    path: FromPath[str],
) -> Response[bytes]:
    """Return the bytes of a file. Text is served as plain text, everything else as a download.

    The ETag is the SHA-256 of the file.
    """
    _, found, files = await find_files(assay, requested_name, version)
    file = file_at(files, path)
    tag = {"ETag": etag_of(file.sha256)}
    if is_cached(request.headers, tag["ETag"]):
        return not_modified(tag)
    content = await assay.blobs.read_file(found.content_digest, file.path)
    is_text = text_of(content) is not None
    disposition = content_disposition("inline" if is_text else "attachment", file.path.rpartition("/")[2])
    headers = {**INERT, **tag, "Content-Disposition": disposition}
    return Response(content, media_type=TEXT if is_text else BYTES, headers=headers)


@get(
    f"{VERSION}/download",
    summary="Download a version as an archive",
    opt=degraded(without_database.download),
    dependencies=parameters(ArchiveParameters),
    responses={
        200: response_spec(bytes, "All files in one folder that is named after the skill.", "application/zip"),
        **PROBLEMS,
    },
)
async def download(
    assay: Assay,
    request: Request[Any, Any, Any],
    requested_name: RequestedName,
    version: FromPath[str],
    params: Params[ArchiveParameters],
) -> Response[Any]:
    """Return all files as an archive. It is reproducible: sorted, without timestamps, and not compressed.

    The ETag is the content digest of the version.
    """
    async with assay.store.snapshot() as db:
        skill, found = await choose_version(db, requested_name, version)
    archive = VersionArchive(skill.name, found.version, found.content_digest, params.kind)
    return await answer_archive(assay, request, archive)


async def find_files(assay: App, name: str, version: str) -> tuple[Skill, SkillVersion, list[FileEntry]]:
    """Return a version that may be served, and its files."""
    async with assay.store.snapshot() as db:
        skill, found = await choose_version(db, name, version)
        return skill, found, await list_files(db, found.content_digest)


def file_at(files: list[FileEntry], path: str) -> FileEntry:
    """Return the file at a path, or raise NotFound."""
    relative = path.lstrip("/")
    file = next((each for each in files if each.path == relative), None)
    if file is None:
        raise NotFound(f"There is no file {relative[:200]} in this version.", code="file_not_found")
    return file
