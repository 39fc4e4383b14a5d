"""Publish: listing, version, hallmark, scan, state, event and change record in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.certify.certify import certify
from assay.certify.keys import SigningKeys
from assay.model.errors import Conflict
from assay.model.human_decisions import REJECTED, Said
from assay.model.ids import new_id
from assay.model.listing_status import VersionStatus
from assay.model.naming import listing_name, slug_of
from assay.model.review import Review
from assay.model.skill import Certificate, Description, SkillVersion
from assay.model.source import Source
from assay.model.submission import ACTIVE, Reason, State, Submission
from assay.model.verdict import Path, Verdict, Weighed
from assay.publish.block import blocked, blocks_of
from assay.publish.refuse import refuse_submission
from assay.publish.version import next_version
from assay.store.moderation.reviews import find_approvals
from assay.store.scans.rescans import add_second_looks
from assay.store.scans.scans import Examined, save_scans
from assay.store.skills.skills import list_versions
from assay.store.submissions.transitions import LostLease, Move, Step, move_all, move_one
from assay.store.versions.publications import (
    Listed,
    Listing,
    NewVersion,
    list_first_versions,
    list_next_version,
    lock_listing,
    make_live,
)
from assay.store.versions.status import lock_skill, set_status

NO_REASON = dict.fromkeys(("reason_code", "reason_message", "next_step"))


@dataclass(frozen=True)
class Approved:
    """Everything that goes public together."""

    name: str
    source: Source
    description: Description
    weighed: Weighed
    certificate: Certificate
    # Of a person who has approved exactly these bytes.
    review: Review | None = None

    @property
    def verdict(self) -> Verdict:
        """Why it goes public."""
        return self.weighed.verdict

    @property
    def examined(self) -> Examined:
        """What the static scan is kept from."""
        return Examined(self.source.manifest, self.weighed.report, self.weighed.static)


def listed_as(submission: Submission, listed: str | None) -> str:
    """What is listed keeps its name, unless the author calls it something else."""
    if listed is not None and listed.rpartition("/")[2] == slug_of(submission.skill_name):
        return listed
    return listing_name(submission.repository.name, submission.skill_name)


async def publish_all(db: AsyncConnection, wanted: Sequence[tuple[Submission, Approved]]) -> list[Submission | None]:
    """Publish first versions, all of them in six statements; what is blocked is moved to BLOCKED by one more.

    None stands for what cannot be one, because its name or folder is listed already: see `publish_again`.
    """
    entries = await blocks_of(db, [(submission, approved.source.digest) for submission, approved in wanted])
    scans = await save_scans(db, 1, [approved.examined for _, approved in wanted])
    news = [
        (submission, approved, _first_version(submission, approved, scans[approved.source.digest]))
        for (submission, approved), entry in zip(wanted, entries, strict=True)
        if entry is None
    ]
    listed = await list_first_versions(db, [new for _, _, new in news])
    moves = [
        _published(submission, approved, new.listing.id, new.version)
        for submission, approved, new in news
        if new.listing.id in listed
    ]
    moves += [
        blocked(submission, approved.source.digest, entry)
        for (submission, approved), entry in zip(wanted, entries, strict=True)
        if entry is not None
    ]
    moved = await move_all(db, moves)
    if len(moved) != len(moves):
        # Rolls the batch back; alone, only the one that lost its lease will fail.
        raise LostLease("A submission was taken over while it was being published.")
    await _look_again_later(db, [approved for _, approved, _ in news])
    return [moved.get(submission.id) for submission, _ in wanted]


async def publish_again(
    db: AsyncConnection, submission: Submission, approved: Approved, keys: SigningKeys
) -> Submission:
    """Make this content the live version of a listing that exists, or refuse: the name or folder is another's, the
    listing is blocked, or this very version was taken back.

    A version exists exactly if the content changed. Known content becomes live again as it was, with a hallmark that
    says what was found out now.
    """
    digest = approved.source.digest
    # Before any lock: see `hold_blocklist`.
    [entry] = await blocks_of(db, [(submission, digest)])
    scans = await save_scans(db, 1, [approved.examined])
    if entry is not None:
        return await move_one(db, blocked(submission, digest, entry))
    listed = await lock_listing(db, submission.repository.id, submission.skill_path)
    if listed is None or listed.name != approved.name:
        reason = _name_taken(approved.name, listed.name if listed else None)
        return await _refuse(db, submission, reason, trigger="name taken")
    listing = replace(_listing(submission, approved), id=listed.id)
    versions = await list_versions(db, listing.id)
    known = next((each for each in versions if each.content_digest == digest), None)
    if known is not None and known.status is not VersionStatus.LIVE:
        if approved.review is None or known.remark is None or known.remark.code != REJECTED:
            return await _refuse(db, submission, _taken_back(known), trigger=f"version {known.status}")
        # One reviewer took it back, and now one has approved it.
        await set_status(db, await lock_skill(db, listed.name), known, VersionStatus.LIVE, None)
    if known is not None:
        certificate = await _certify_again(db, listed, known, approved, keys)
        listing = replace(listing, certificate=certificate)
        version = replace(known, hallmark=certificate.hallmark, tier=certificate.tier, score=certificate.score)
    else:
        version = _make_version(approved, [each.version for each in versions])
    new = NewVersion(listing, version, version.ordinal, scans[digest], submission.id)
    await (make_live(db, new) if known else list_next_version(db, new))
    await _look_again_later(db, [approved])
    return await move_one(db, _published(submission, approved, listing.id, version))


async def _certify_again(
    db: AsyncConnection, listed: Listed, known: SkillVersion, approved: Approved, keys: SigningKeys
) -> Certificate:
    """What is said of a version follows the newest verdict, and is said of the commit that the version came from.

    What a person has approved stays approved, whoever submits it again.
    """
    weighed, review = approved.weighed, approved.review
    if review is None and known.tier.is_reviewed:
        review = (await find_approvals(db, known.content_digest)).get(listed.id)
    said = Said(review)
    verdict = said.overrule(weighed.verdict, weighed.report)
    return certify(
        listed.name,
        approved.source.manifest,
        known.commit,
        replace(weighed, verdict=verdict),
        keys,
        approved.certificate.certified_at,
        review=said.approval_of(weighed.report),
    )


async def _look_again_later(db: AsyncConnection, published: Sequence[Approved]) -> None:
    """What nobody but the static scan has looked at yet is due for the judge, in the transaction that lets it out."""
    digests = [each.source.digest for each in published if each.verdict.path is Path.FAST_APPROVE]
    if digests:
        await add_second_looks(db, digests, why=Path.FAST_APPROVE.value)


async def _refuse(db: AsyncConnection, submission: Submission, reason: Reason, *, trigger: str) -> Submission:
    """What a worker has found out is the end of its submission; a reviewer is told, and decides otherwise."""
    if submission.state not in ACTIVE:
        raise Conflict(reason.message, code=reason.code)
    return await refuse_submission(db, submission, reason, trigger=trigger)


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
    result = {"skill_id": skill_id, "content_digest": live.content_digest, "score": verdict.score}
    if approved.review is not None and submission.state not in ACTIVE:
        told = {"version": live.version, "digest": live.content_digest, "score": verdict.score}
        said = {"commit": live.commit, "path": verdict.path, "said": approved.review.reason}
        step = Step(State.PUBLISHED, "approved by a reviewer", told | said)
        return Move(submission, (step,), approved.review.reviewer, result | NO_REASON)
    steps = (
        Step(State.AUTO_APPROVED, "approved", {"score": verdict.score, "path": verdict.path}),
        Step(State.PUBLISHED, "published", {"version": live.version, "digest": live.content_digest}),
    )
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
        ordinal=len(taken) + 1,
    )


def _taken_back(version: SkillVersion) -> Reason:
    said = version.remark.message if version.remark else ""
    return Reason(
        f"version_{version.status}",
        f"This content is version {version.version}, which was {version.status}: {said}",
        "Change what is wrong with it, then submit again.",
    )


def _name_taken(name: str, listed: str | None) -> Reason:
    if listed is not None:
        return Reason(
            "already_listed",
            f"This folder is already listed as {listed}.",
            f"Submit it as {listed.rpartition('/')[2]}, or remove that listing first.",
        )
    return Reason(
        "name_taken",
        f"The name {name} belongs to another folder of this repository.",
        "Submit the skill under another name.",
    )
