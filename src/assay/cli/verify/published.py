"""A published version, as the registry gives it: its archive, its hallmark and, unless others are given, its keys."""

import hashlib
import io
from dataclasses import dataclass

import msgspec

from assay.cli.mirror.source import LARGEST_ARCHIVE, read_bounded, read_keys
from assay.cli.process.stopping import run_command
from assay.cli.registry.client import TIMEOUT, open_registry
from assay.cli.registry.errors import stranger
from assay.cli.verify.proof import Proof
from assay.fetch.archive import unpack_tar
from assay.fetch.limits import Limits

# In the place of a repository: the last part of a name alone is asked for.
ANY_REPOSITORY = "-/-/"


class _Listing(msgspec.Struct):
    name: str
    # A registry of an earlier release gives none.
    aliases: list[str] = []


@dataclass(frozen=True)
class Published:
    """Proof and hashes, and the names that the hallmark may be signed for."""

    proof: Proof
    hashes: dict[str, str]
    names: frozenset[str]


def fetch_published(wanted: str, url: str | None, keys: dict[str, str] | None) -> Published:
    """What there is of `owner/repository/skill` or `…@version`."""
    name, _, version = wanted.partition("@")
    return run_command(_fetch(name, version or "latest", url, keys))


async def _fetch(name: str, version: str, url: str | None, keys: dict[str, str] | None) -> Published:
    async with open_registry(url) as registry:
        about = f"/api/v1/skills/{name}/versions/{version}"
        hallmark = await registry.get(f"{about}/hallmark")
        listing = await registry.get(f"{about}/files")
        known = keys if keys is not None else await read_keys(registry)
        async with registry.opened("GET", f"{about}/download?format=tar.gz", timeout=TIMEOUT) as answer:
            archive = await read_bounded(answer, LARGEST_ARCHIVE)
        try:
            names = _names(name.lower(), msgspec.convert(listing, _Listing))
        except msgspec.ValidationError:
            raise stranger(registry.base_url) from None
    unpacked = unpack_tar(io.BytesIO(archive), Limits(), strip_root=True)
    hashes = {path: hashlib.sha256(unpacked.read(path)).hexdigest() for path in unpacked.files}
    return Published(Proof(hallmark, known), hashes | dict.fromkeys(unpacked.left_out, "a link or a device"), names)


def _names(asked: str, listing: _Listing) -> frozenset[str]:
    """What was asked for and, if that is one of them, all names of the listing."""
    names = frozenset({listing.name, *listing.aliases})
    slug = asked.removeprefix(ANY_REPOSITORY)
    is_one = asked in names if slug == asked else any(slug == name.rpartition("/")[2] for name in names)
    return names | {asked} if is_one else frozenset({asked})
