"""Archives of versions. They are built from the blob store alone, so they can be served while the database is down."""

from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Request, Response
from litestar.params import QueryParameter
from litestar.response import Stream

from assay.app.app import App
from assay.model.skill import slug_in
from assay.serve.versions.archive import ArchiveFormat, pack
from assay.web.http.headers import content_disposition, etag_of, is_cached, not_modified

# Files of skills are hostile: browsers must neither run them nor load anything for them.
INERT = {"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"}
MEDIA_TYPES = {ArchiveFormat.ZIP: "application/zip", ArchiveFormat.TAR_GZ: "application/gzip"}


@dataclass(frozen=True)
class ArchiveParameters:
    """Query parameters of a download."""

    kind: Annotated[ArchiveFormat, QueryParameter(name="format", description="The archive format.")] = ArchiveFormat.ZIP


@dataclass(frozen=True, slots=True)
class VersionArchive:
    """A version to be downloaded, and the format of the archive."""

    name: str
    version: str
    digest: str
    kind: ArchiveFormat


async def answer_archive(assay: App, request: Request[Any, Any, Any], archive: VersionArchive) -> Response[Any]:
    """Stream the archive; its ETag is the content digest."""
    tag = {"ETag": etag_of(archive.digest)}
    if is_cached(request.headers, tag["ETag"]):
        return not_modified(tag)
    source = await assay.blobs.load(archive.digest)
    slug = slug_in(archive.name)
    disposition = content_disposition("attachment", f"{slug}-{archive.version}.{archive.kind.value}")
    parts = pack(source.files, slug, archive.kind)
    headers = {**INERT, **tag, "Content-Disposition": disposition}
    return Stream(parts, media_type=MEDIA_TYPES[archive.kind], headers=headers)
