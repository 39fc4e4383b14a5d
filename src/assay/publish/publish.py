"""Publish: listing, version, hallmark, scan, state, event and change record in one transaction."""

from dataclasses import dataclass, replace

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.finding import Report
from assay.model.ids import new_id
from assay.model.skill import Certificate, Description, SkillVersion
from assay.model.source import Source
from assay.model.submission import Reason, State, Submission
from assay.model.verdict import Verdict
from assay.publish.refuse import refuse_submission
from assay.publish.version import next_version
from assay.store.scans import save_scan
from assay.store.skills import (
    Listing,
    NewVersion,
    list_first_version,
    list_next_version,
    list_versions,
    lock_listing,
    make_live,
)
from assay.store.transitions import Step, move


@dataclass(frozen=True)
class Approved:
    """Everything that goes public together."""

    name: str
    source: Source
    description: Description
    report: Report
    verdict: Verdict
    certificate: Certificate


async def publish_skill(db: AsyncConnection, submission: Submission, approved: Approved) -> Submission:
    """Make this content the live version of its listing. Doing it twice equals doing it once."""
    scan_id = await save_scan(db, 1, approved.source.manifest, approved.report, approved.verdict)
    listing = Listing(
        id=submission.skill_id or new_id(),
        name=approved.name,
        repository_id=submission.repository.id,
        skill_path=submission.skill_path,
        author=approved.description.author or submission.repository.name.owner,
        description=approved.description,
        certificate=approved.certificate,
    )
    live = await _first_version(db, submission, listing, approved, scan_id)
    if live is None:
        listed = await lock_listing(db, submission.repository.id, submission.skill_path)
        if listed is None or listed[1] != approved.name:
            return await refuse_submission(db, submission, _name_taken(approved.name, listed), trigger="name taken")
        listing = replace(listing, id=listed[0])
        live = await _next_version(db, submission, listing, approved, scan_id)
    return await move(
        db,
        submission,
        Step(State.AUTO_APPROVED, "approved", {"score": approved.verdict.score, "path": approved.verdict.path}),
        Step(State.PUBLISHED, "published", {"version": live.version, "digest": live.content_digest}),
        actor="worker",
        skill_id=listing.id,
        content_digest=live.content_digest,
        score=approved.verdict.score,
        reason_code=None,
        reason_message=None,
        next_step=None,
    )


async def _first_version(
    db: AsyncConnection, submission: Submission, listing: Listing, approved: Approved, scan_id: int
) -> SkillVersion | None:
    """None if the folder or the name is listed already: only the insert itself can say so for sure."""
    version = _make_version(approved, [])
    new = NewVersion(listing.name, version, 1, scan_id, submission.id)
    return version if await list_first_version(db, listing, new) else None


async def _next_version(
    db: AsyncConnection, submission: Submission, listing: Listing, approved: Approved, scan_id: int
) -> SkillVersion:
    """A version exists exactly if the content changed; known content becomes live again as it was."""
    versions = await list_versions(db, listing.id)
    known = next((each for each in versions if each.content_digest == approved.source.digest), None)
    if known is not None:
        await make_live(db, listing, known.id)
        return known
    version = _make_version(approved, [each.version for each in versions])
    new = NewVersion(listing.name, version, len(versions) + 1, scan_id, submission.id)
    await list_next_version(db, listing, new)
    return version


def _make_version(approved: Approved, taken: list[str]) -> SkillVersion:
    return SkillVersion(
        id=new_id(),
        version=next_version(approved.description.version, taken),
        content_digest=approved.source.digest,
        commit=approved.source.commit,
        tier=approved.certificate.tier,
        score=approved.certificate.score,
        hallmark=approved.certificate.hallmark,
        published_at=approved.certificate.certified_at,
    )


def _name_taken(name: str, listed: tuple[object, str] | None) -> Reason:
    if listed is not None:
        return Reason(
            "already_listed",
            f"This folder is already listed as {listed[1]}.",
            f"Submit it as {listed[1].rpartition('/')[2]}, or remove that listing first.",
        )
    return Reason(
        "name_taken",
        f"The name {name} belongs to another folder of this repository.",
        "Submit the skill under another name.",
    )
