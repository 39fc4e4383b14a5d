"""Publish: listing, version, hallmark, scan, state, event and change record in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.finding import Report
from assay.model.ids import new_id
from assay.model.skill import Certificate, Description, SkillVersion
from assay.model.source import Source
from assay.model.submission import Reason, State, Submission
from assay.model.verdict import Verdict
from assay.publish.refuse import refuse_submission
from assay.publish.version import next_version
from assay.store.scans import Examined, save_scans
from assay.store.skills import (
    Listing,
    NewVersion,
    list_first_versions,
    list_next_version,
    list_versions,
    lock_listing,
    make_live,
)
from assay.store.transitions import LostLease, Move, Step, move_all, move_one

NO_REASON = dict.fromkeys(("reason_code", "reason_message", "next_step"))


@dataclass(frozen=True)
class Approved:
    """Everything that goes public together."""

    name: str
    source: Source
    description: Description
    report: Report
    verdict: Verdict
    certificate: Certificate

    @property
    def examined(self) -> Examined:
        """What the scan is kept from."""
        return Examined(self.source.manifest, self.report, self.verdict)


async def publish_all(db: AsyncConnection, wanted: Sequence[tuple[Submission, Approved]]) -> list[Submission | None]:
    """Publish first versions, all of them in four statements.

    None stands for what cannot be one, because its name or folder is listed already: see `publish_again`.
    """
    scans = await save_scans(db, 1, [approved.examined for _, approved in wanted])
    news = [_first_version(submission, approved, scans[approved.source.digest]) for submission, approved in wanted]
    listed = await list_first_versions(db, news)
    moves = {
        new.listing.id: _published(submission, approved, new.listing.id, new.version)
        for (submission, approved), new in zip(wanted, news, strict=True)
        if new.listing.id in listed
    }
    moved = await move_all(db, list(moves.values()))
    if len(moved) != len(moves):
        # Rolls the batch back; alone, only the one that lost its lease will fail.
        raise LostLease("A submission was taken over while it was being published.")
    return [moved.get(submission.id) for submission, _ in wanted]


async def publish_again(db: AsyncConnection, submission: Submission, approved: Approved) -> Submission:
    """Make this content the live version of a listing that exists, or refuse if the name or folder is another's."""
    scans = await save_scans(db, 1, [approved.examined])
    listed = await lock_listing(db, submission.repository.id, submission.skill_path)
    if listed is None or listed[1] != approved.name:
        return await refuse_submission(db, submission, _name_taken(approved.name, listed), trigger="name taken")
    listing = replace(_listing(submission, approved), id=listed[0])
    live = await _next_version(db, submission, listing, approved, scans[approved.source.digest])
    return await move_one(db, _published(submission, approved, listing.id, live))


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
    await list_next_version(db, NewVersion(listing, version, len(versions) + 1, scan_id, submission.id))
    return version


def _first_version(submission: Submission, approved: Approved, scan_id: int) -> NewVersion:
    return NewVersion(_listing(submission, approved), _make_version(approved, []), 1, scan_id, submission.id)


def _listing(submission: Submission, approved: Approved) -> Listing:
    return Listing(
        id=submission.skill_id or new_id(),
        name=approved.name,
        repository_id=submission.repository.id,
        skill_path=submission.skill_path,
        author=approved.description.author or submission.repository.name.owner,
        description=approved.description,
        certificate=approved.certificate,
    )


def _published(submission: Submission, approved: Approved, skill_id: UUID, live: SkillVersion) -> Move:
    verdict = approved.verdict
    steps = (
        Step(State.AUTO_APPROVED, "approved", {"score": verdict.score, "path": verdict.path}),
        Step(State.PUBLISHED, "published", {"version": live.version, "digest": live.content_digest}),
    )
    result = {"skill_id": skill_id, "content_digest": live.content_digest, "score": verdict.score}
    return Move(submission, steps, "worker", result | NO_REASON)


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
