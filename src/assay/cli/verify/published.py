"""A published version as the registry serves it: archive, hallmark and, unless passed as a file, keys."""

import hashlib
import io
from dataclasses import dataclass

import msgspec

from assay.cli.mirror.upstream import MAX_ARCHIVE_BYTES, fetch_keys, read_bounded
from assay.cli.process.stopping import run_command
from assay.cli.registry.client import TIMEOUT, open_registry
from assay.cli.registry.errors import not_a_registry
from assay.cli.verify.proof import Proof
from assay.fetch.archive import unpack_tar
from assay.fetch.limits import Limits

# The prefix that requests a skill by the last part of its name alone.
ANY_REPOSITORY = "-/-/"


class _Listing(msgspec.Struct):
    name: str
    # Registries of earlier releases send none.
    aliases: list[str] = []


@dataclass(frozen=True)
class Published:
    """Proof and file hashes, and the names for which the hallmark may be signed."""

    proof: Proof
    hashes: dict[str, str]
    names: frozenset[str]


def fetch_published(requested: str, url: str | None, keys: dict[str, str] | None) -> Published:
    """Fetch `owner/repository/skill` or `owner/repository/skill@version`."""
    name, _, version = requested.partition("@")
    return run_command(_fetch(name, version or "latest", url, keys))


async def _fetch(name: str, version: str, url: str | None, keys: dict[str, str] | None) -> Published:
    async with open_registry(url) as registry:
        base = f"/api/v1/skills/{name}/versions/{version}"
        hallmark = await registry.get(f"{base}/hallmark")
        listing = await registry.get(f"{base}/files")
        known = keys if keys is not None else await fetch_keys(registry)
        async with registry.open_response("GET", f"{base}/download?format=tar.gz", timeout=TIMEOUT) as response:
            archive = await read_bounded(response, MAX_ARCHIVE_BYTES)
        try:
            names = _names(name.lower(), msgspec.convert(listing, _Listing))
        except msgspec.ValidationError:
            raise not_a_registry(registry.base_url) from None
    unpacked = unpack_tar(io.BytesIO(archive), Limits(), strip_root=True)
    hashes = {path: hashlib.sha256(unpacked.read(path)).hexdigest() for path in unpacked.files}
    return Published(Proof(hallmark, known), hashes | dict.fromkeys(unpacked.left_out, "a link or a device"), names)


def _names(requested: str, listing: _Listing) -> frozenset[str]:
    """Return the requested name and, if the listing has it, all names of the listing."""
    names = frozenset({listing.name, *listing.aliases})
    slug = requested.removeprefix(ANY_REPOSITORY)
    has_name = requested in names if slug == requested else any(slug == name.rpartition("/")[2] for name in names)
    return names | {requested} if has_name else frozenset({requested})
