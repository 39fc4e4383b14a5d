"""A published version, as the registry gives it: its archive, its hallmark and, unless others are given, its keys."""

import hashlib
import io

from assay.cli.client import TIMEOUT, open_registry
from assay.cli.mirror.source import LARGEST_ARCHIVE, read_bounded, read_keys
from assay.cli.stopping import run_command
from assay.cli.verify.proof import Proof
from assay.fetch.archive import unpack_tar
from assay.fetch.limits import Limits

Published = tuple[Proof, dict[str, str]]


def fetch_published(wanted: str, url: str | None, keys: dict[str, str] | None) -> Published:
    """Proof and hashes of `owner/repository/skill` or `…@version`."""
    name, _, version = wanted.partition("@")
    return run_command(_fetch(name, version or "latest", url, keys))


async def _fetch(name: str, version: str, url: str | None, keys: dict[str, str] | None) -> Published:
    async with open_registry(url) as registry:
        about = f"/api/v1/skills/{name}/versions/{version}"
        hallmark = await registry.get(f"{about}/hallmark")
        known = keys if keys is not None else await read_keys(registry)
        async with registry.opened("GET", f"{about}/download?format=tar.gz", timeout=TIMEOUT) as answer:
            archive = await read_bounded(answer, LARGEST_ARCHIVE)
    unpacked = unpack_tar(io.BytesIO(archive), Limits(), strip_root=True)
    hashes = {path: hashlib.sha256(unpacked.read(path)).hexdigest() for path in unpacked.files}
    return Proof(hallmark, known), hashes | dict.fromkeys(unpacked.left_out, "a link or a device")
