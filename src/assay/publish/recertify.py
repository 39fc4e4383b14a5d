"""Certify again: what is said of versions that are out follows what was found out about their content."""

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.certify.certify import certify
from assay.certify.keys import SigningKeys
from assay.model.source import Manifest
from assay.model.standing import VersionStatus
from assay.model.verdict import Weighed
from assay.store.contents import list_files
from assay.store.listings import set_certificate, versions_with
from assay.store.reviews import find_approvals


async def recertify(db: AsyncConnection, weighed: Weighed, keys: SigningKeys, now: datetime) -> int:
    """Tier, trust and hallmark of every version with these bytes, in the transaction that changes their reasons.

    What a person has reviewed stays reviewed; what was withdrawn stays as it is. Returns how many.
    """
    digest, number = weighed.report.digest, 0
    found = await versions_with(db, digest)
    if not found:
        return 0
    manifest = Manifest(tuple(await list_files(db, digest)))
    approvals = await find_approvals(db, digest)
    for listing, version in found:
        if version.status is VersionStatus.WITHDRAWN:
            continue
        review = approvals.get(listing.id)
        certificate = certify(listing.name, manifest, version.commit, weighed, keys, now, review=review)
        await set_certificate(db, listing, version, certificate)
        number += 1
    return number
