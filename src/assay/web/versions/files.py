"""The files of a version: their list, one of them, and all of them as an archive."""

from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, QueryParameter
from litestar.response import Stream
from litestar.status_codes import HTTP_304_NOT_MODIFIED

from assay.app.app import App
from assay.model.errors import NotFound
from assay.model.naming import slug_in
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry
from assay.serve.versions.archive import Format, pack
from assay.serve.versions.compare import text_of
from assay.serve.versions.versions import choose_version
from assay.store.scans.contents import list_files
from assay.store.skills.names import aliases_of
from assay.web.http.dependencies import Assay
from assay.web.http.problems import problems
from assay.web.versions.json import FilesView
from assay.web.versions.naming import answered, disposition, etag, is_known, wanted_name
from assay.web.versions.present import present_files

REFUSALS = problems(300, 400, 404, 410, 503)
VERSION = "/{owner:str}/{repo:str}/{skill:str}/versions/{version:str}"
# Whatever a file holds, it is not run and not asked for more.
INERT = {"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"}
TEXT, BYTES = "text/plain", "application/octet-stream"
ARCHIVES = {Format.ZIP: "application/zip", Format.TAR_GZ: "application/gzip"}


def _bytes(description: str, media_type: str) -> dict[int, ResponseSpec]:
    return {200: ResponseSpec(bytes, generate_examples=False, description=description, media_type=media_type)}


@get(f"{VERSION}/files", summary="List the files of a version", responses=REFUSALS)
async def list_version_files(
    assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str], version: FromPath[str]
) -> Response[FilesView]:
    """Path, size and SHA-256 of each, in the order of paths; and the names that lead to the listing."""
    wanted = wanted_name(owner, repo, skill)
    async with assay.store.snapshot() as db:
        listing, found = await choose_version(db, wanted, version)
        files, aliases = await list_files(db, found.content_digest), await aliases_of(db, listing.id)
    view = FilesView(
        name=listing.name,
        aliases=aliases,
        version=found.version,
        content_hash=found.content_digest,
        files=present_files(files),
    )
    return answered(view, wanted, listing, f"/versions/{found.version}/files")


@get(
    f"{VERSION}/files/{{path:path}}",
    summary="One file of a version",
    responses={**_bytes("The bytes of the file.", BYTES), **REFUSALS},
)
async def get_file(
    assay: Assay,
    request: Request[Any, Any, Any],
    owner: FromPath[str],
    repo: FromPath[str],
    skill: FromPath[str],
    version: FromPath[str],
    path: FromPath[str],
) -> Response[bytes]:
    """Text is shown as text, whatever it says it is; everything else is saved. The ETag is the SHA-256."""
    _, found, files = await find_files(assay, wanted_name(owner, repo, skill), version)
    file = file_at(files, path)
    tag = {"ETag": etag(file.sha256)}
    if is_known(request.headers, tag["ETag"]):
        return Response(b"", status_code=HTTP_304_NOT_MODIFIED, headers=tag)
    content = await assay.blobs.read_file(found.content_digest, file.path)
    is_text = text_of(content) is not None
    named = disposition("inline" if is_text else "attachment", file.path.rpartition("/")[2])
    return Response(
        content, media_type=TEXT if is_text else BYTES, headers={**INERT, **tag, "Content-Disposition": named}
    )


@get(
    f"{VERSION}/download",
    summary="A version as an archive",
    responses={**_bytes("All files under one folder, called like the skill.", "application/zip"), **REFUSALS},
)
async def download(
    assay: Assay,
    request: Request[Any, Any, Any],
    owner: FromPath[str],
    repo: FromPath[str],
    skill: FromPath[str],
    version: FromPath[str],
    kind: Annotated[Format, QueryParameter(name="format", description="The kind of archive.")] = Format.ZIP,
) -> Response[Any]:
    """The same bytes every time and everywhere: sorted, without times, not compressed. The ETag is its digest."""
    async with assay.store.snapshot() as db:
        listing, found = await choose_version(db, wanted_name(owner, repo, skill), version)
    archive = Archive(listing.name, found.version, found.content_digest, kind)
    return await answer_archive(assay, request, archive)


@dataclass(frozen=True, slots=True)
class Archive:
    """A version that may be given, and the kind of archive that is wanted of it."""

    name: str
    version: str
    digest: str
    kind: Format


async def answer_archive(assay: App, request: Request[Any, Any, Any], wanted: Archive) -> Response[Any]:
    """All its files, from the blobs; nothing for who has them."""
    tag = {"ETag": etag(wanted.digest)}
    if is_known(request.headers, tag["ETag"]):
        return Response(b"", status_code=HTTP_304_NOT_MODIFIED, headers=tag)
    source = await assay.blobs.load(wanted.digest)
    slug = slug_in(wanted.name)
    named = disposition("attachment", f"{slug}-{wanted.version}.{wanted.kind.value}")
    parts = pack(source.files, slug, wanted.kind)
    return Stream(parts, media_type=ARCHIVES[wanted.kind], headers={**INERT, **tag, "Content-Disposition": named})


async def find_files(assay: App, wanted: str, version: str) -> tuple[Skill, SkillVersion, list[FileEntry]]:
    """A version that may be given, and its files."""
    async with assay.store.snapshot() as db:
        listing, found = await choose_version(db, wanted, version)
        return listing, found, await list_files(db, found.content_digest)


def file_at(files: list[FileEntry], path: str) -> FileEntry:
    """The file at a path, or NotFound."""
    wanted = path.lstrip("/")
    file = next((each for each in files if each.path == wanted), None)
    if file is None:
        raise NotFound(f"There is no file {wanted[:200]} in this version.", code="file_not_found")
    return file
