"""Publishing: listing, version, hallmark, scan, state, event and change record in one transaction."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.certify.certify import certify
from assay.certify.keys import SigningKeys
from assay.model.errors import Conflict
from assay.model.ids import new_id
from assay.model.moderation import REJECTED, HumanDecisions, Review
from assay.model.skill import (
    Certificate,
    Description,
    SkillVersion,
    VersionStatus,
    declared_version,
    listing_name,
    slug_in,
)
from assay.model.source import Source
from assay.model.submission import ACTIVE, Reason, State, Submission
from assay.model.verdict import Assessment, Path, Verdict
from assay.publish.block import block_move, find_block_entries
from assay.publish.names import free_name, rename_to_chosen, revive_deleted
from assay.publish.refuse import refuse_submission
from assay.store.moderation.reviews import find_approvals
from assay.store.scans.rescans import add_rescans
from assay.store.scans.scans import ScannedContent, save_scans
from assay.store.skills.locks import lock_skill
from assay.store.submissions.transitions import LostLease, Move, Step, move_all, move_one
from assay.store.versions.publications import (
    ExistingListing,
    ListingUpdate,
    NewVersion,
    lock_listing,
    make_live,
    publish_first_versions,
    publish_next_version,
)
from assay.store.versions.status import set_version_status
from assay.store.versions.versions import list_versions

SEMVER = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]{1,50})?")
NO_REASON = dict.fromkeys(("reason_code", "reason_message", "next_step"))


@dataclass(frozen=True)
class Approved:
    """An approved content with all that is published with it."""

    name: str
    source: Source
    description: Description
    assessment: Assessment
    certificate: Certificate
    # The reviewer's approval of this content, if any.
    review: Review | None = None
    # The owner or an administrator chose the name.
    is_name_chosen: bool = False

    @property
    def verdict(self) -> Verdict:
        return self.assessment.verdict

    @property
    def scanned(self) -> ScannedContent:
        return ScannedContent(self.source.manifest, self.assessment.report, self.assessment.static)


def listing_name_for(submission: Submission, current: str | None) -> str:
    """Return the current name of the listing, which its owner may have changed, or the requested one if it is new."""
    return current or listing_name(submission.repository.name, submission.skill_name)


async def publish_new_listings(
    db: AsyncConnection, items: Sequence[tuple[Submission, Approved]]
) -> list[Submission | None]:
    """Publish first versions in six statements, plus one that moves blocklisted submissions to BLOCKED.

    The result is None for items whose name or folder is already listed: use `publish_to_listing` for them.
    """
    entries = await find_block_entries(db, [(submission, approved.source.digest) for submission, approved in items])
    scans = await save_scans(db, 1, [approved.scanned for _, approved in items])
    news = [
        (submission, approved, _first_version(submission, approved, scans[approved.source.digest]))
        for (submission, approved), entry in zip(items, entries, strict=True)
        if entry is None
    ]
    listed = await publish_first_versions(db, [new for _, _, new in news])
    moves = [
        _published(submission, approved, new.listing.id, new.version)
        for submission, approved, new in news
        if new.listing.id in listed
    ]
    moves += [
        block_move(submission, approved.source.digest, entry)
        for (submission, approved), entry in zip(items, entries, strict=True)
        if entry is not None
    ]
    moved = await move_all(db, moves)
    if len(moved) != len(moves):
        # Rolls the batch back; alone, only the one that lost its lease will fail.
        raise LostLease("A submission was taken over while it was being published.")
    await _schedule_judging(db, [approved for _, approved, _ in news])
    return [moved.get(submission.id) for submission, _ in items]


async def publish_to_listing(
    db: AsyncConnection, submission: Submission, approved: Approved, keys: SigningKeys
) -> Submission:
    """Make this content the current version of an existing listing. Refuse it if the name or folder belongs to another
    listing, the skill is blocklisted, or this version was yanked or withdrawn.

    A new version is created only for new content. Known content becomes current again under its old number, with a new
    hallmark.
    """
    digest = approved.source.digest
    # Before any other lock: see `lock_blocklist_shared`.
    [entry] = await find_block_entries(db, [(submission, digest)])
    scans = await save_scans(db, 1, [approved.scanned])
    if entry is not None:
        return await move_one(db, block_move(submission, digest, entry))
    listed = await lock_listing(db, submission.repository.id, submission.skill_path)
    if listed is None or listed.name != approved.name:
        if not await _settle_name(db, submission, approved, listed):
            reason = _name_taken(approved.name, listed.name if listed else None)
            return await _refuse(db, submission, reason, trigger="name taken")
        if listed is None:
            return await _publish_first(db, submission, approved, scans[digest])
        listed = replace(listed, name=approved.name)
    if approved.is_name_chosen:
        await revive_deleted(db, listed)
    listing = replace(_listing(submission, approved), id=listed.id)
    versions = await list_versions(db, listing.id)
    known = next((each for each in versions if each.content_digest == digest), None)
    if known is not None and known.status is not VersionStatus.LIVE:
        if approved.review is None or known.remark is None or known.remark.code != REJECTED:
            return await _refuse(db, submission, _taken_back(known), trigger=f"version {known.status}")
        # A reviewer rejected this version before, and one has approved it now.
        await set_version_status(db, await lock_skill(db, listed.name), known, VersionStatus.LIVE, None)
    if known is not None:
        certificate = await _certify_again(db, listed, known, approved, keys)
        listing = replace(listing, certificate=certificate)
        version = replace(known, hallmark=certificate.hallmark, tier=certificate.tier, score=certificate.score)
    else:
        version = _make_version(approved, [each.version for each in versions])
    new = NewVersion(listing, version, version.ordinal, scans[digest], submission.id)
    await (make_live(db, new) if known else publish_next_version(db, new))
    await _schedule_judging(db, [approved])
    return await move_one(db, _published(submission, approved, listing.id, version))


async def _settle_name(
    db: AsyncConnection, submission: Submission, approved: Approved, listed: ExistingListing | None
) -> bool:
    """Make the name available for this folder if its owner chose it; False if it is not."""
    if not approved.is_name_chosen:
        return False
    if listed is None:
        return await free_name(db, submission, approved.name)
    return await rename_to_chosen(db, submission, listed, approved.name)


async def _publish_first(db: AsyncConnection, submission: Submission, approved: Approved, scan_id: int) -> Submission:
    """Publish the first version of a listing whose name has just become available."""
    new = _first_version(submission, approved, scan_id)
    if not await publish_first_versions(db, [new]):
        return await _refuse(db, submission, _name_taken(approved.name, None), trigger="name taken")
    await _schedule_judging(db, [approved])
    return await move_one(db, _published(submission, approved, new.listing.id, new.version))


async def _certify_again(
    db: AsyncConnection, listed: ExistingListing, known: SkillVersion, approved: Approved, keys: SigningKeys
) -> Certificate:
    """Certify a known version by the latest verdict, for the commit it was published from.

    A reviewer's approval of the content is kept.
    """
    assessment, review = approved.assessment, approved.review
    if review is None and known.tier.is_reviewed:
        review = (await find_approvals(db, known.content_digest)).get(listed.id)
    decisions = HumanDecisions(review)
    verdict = decisions.apply_to(assessment.verdict, assessment.report)
    return certify(
        listed.name,
        approved.source.manifest,
        known.commit,
        replace(assessment, verdict=verdict),
        keys,
        approved.certificate.certified_at,
        review=decisions.approval_of(assessment.report),
    )


async def _schedule_judging(db: AsyncConnection, published: Sequence[Approved]) -> None:
    """Schedule the judge for fast approvals, in the transaction that publishes them."""
    digests = [each.source.digest for each in published if each.verdict.path is Path.FAST_APPROVE]
    if digests:
        await add_rescans(db, digests, why=Path.FAST_APPROVE.value)


async def _refuse(db: AsyncConnection, submission: Submission, reason: Reason, *, trigger: str) -> Submission:
    """Refuse an active submission; raise Conflict for one that a reviewer is approving."""
    if submission.state not in ACTIVE:
        raise Conflict(reason.message, code=reason.code)
    return await refuse_submission(db, submission, reason, trigger=trigger)


def _first_version(submission: Submission, approved: Approved, scan_id: int) -> NewVersion:
    return NewVersion(_listing(submission, approved), _make_version(approved, []), 1, scan_id, submission.id)


def _listing(submission: Submission, approved: Approved) -> ListingUpdate:
    owner, claimed = submission.repository.name.owner, approved.description.author
    return ListingUpdate(
        id=submission.skill_id or new_id(),
        name=approved.name,
        repository_id=submission.repository.id,
        skill_path=submission.skill_path,
        author=owner,
        claimed_author=None if claimed is None or claimed.lower() == owner.lower() else claimed,
        is_name_chosen=approved.is_name_chosen,
        description=approved.description,
        certificate=approved.certificate,
    )


def _published(submission: Submission, approved: Approved, skill_id: UUID, live: SkillVersion) -> Move:
    verdict = approved.verdict
    result = {"skill_id": skill_id, "content_digest": live.content_digest, "score": verdict.score}
    if approved.review is not None and submission.state not in ACTIVE:
        details = {
            "version": live.version,
            "digest": live.content_digest,
            "score": verdict.score,
            "commit": live.commit,
            "path": verdict.path,
            "said": approved.review.reason,
        }
        step = Step(State.PUBLISHED, "approved by a reviewer", details)
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
    message = version.remark.message if version.remark else ""
    return Reason(
        f"version_{version.status}",
        f"This content is version {version.version}, which was {version.status}: {message}",
        "Fix the stated problem, then submit again.",
    )


def _name_taken(name: str, listed: str | None) -> Reason:
    if listed is not None:
        return Reason(
            "already_listed",
            f"This folder is already listed as {listed}.",
            f"Submit it under the name {slug_in(listed)}, or unlist that listing first.",
        )
    return Reason(
        "name_taken",
        f"The name {name} belongs to another folder of this repository.",
        "Submit the skill under another name.",
    )


def next_version(declared: str | None, taken: Sequence[str]) -> str:
    """Return the declared version if it is valid and unused, else the highest version with the patch incremented."""
    version = (declared_version(declared) or "").strip().removeprefix("v")
    if SEMVER.fullmatch(version) and version not in taken:
        return version
    numbers = [match for match in map(SEMVER.fullmatch, taken) if match]
    if not numbers:
        return "1.0.0"
    major, minor, patch = max((int(found[1]), int(found[2]), int(found[3])) for found in numbers)
    return f"{major}.{minor}.{patch + 1}"
