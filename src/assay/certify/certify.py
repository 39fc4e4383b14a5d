"""Certificates: the tier, score and signatures of a skill's content."""

from datetime import datetime

from assay.certify.hallmark import sign_hallmark
from assay.certify.keys import SigningKeys
from assay.certify.oms import sign_model
from assay.model.moderation import Review
from assay.model.skill import Certificate, Method, Tier, TrustTier, slug_in
from assay.model.source import Manifest, Source
from assay.model.verdict import Assessment

# The share of the score that each tier can vouch for.
WEIGHT = {Tier.SCANNED: 0.6, Tier.VERIFIED: 0.85, Tier.CERTIFIED: 1.0}
METHOD = {Tier.SCANNED: Method.STATIC, Tier.VERIFIED: Method.JUDGE, Tier.CERTIFIED: Method.REVIEW}
STEPS = ((90, TrustTier.T4), (70, TrustTier.T3), (50, TrustTier.T2), (30, TrustTier.T1), (0, TrustTier.T0))


def certify_source(
    name: str, source: Source, assessment: Assessment, keys: SigningKeys, now: datetime, review: Review | None = None
) -> Certificate:
    """Certify a source under this name. With a review, the certificate is for what a person approved."""
    return certify(name, source.manifest, source.commit, assessment, keys, now, review=review)


def certify(
    name: str,
    manifest: Manifest,
    commit: str,
    assessment: Assessment,
    keys: SigningKeys,
    now: datetime,
    *,
    review: Review | None = None,
) -> Certificate:
    """Certify content of which only the manifest is available."""
    judgement, verdict = assessment.judgement, assessment.verdict
    scans: list[dict[str, object]] = [
        {
            "tier": 1,
            "engine": assessment.report.engine,
            "ruleset": assessment.report.ruleset,
            "score": assessment.static.score,
        }
    ]
    if judgement is not None:
        scans.append({"tier": 2, "engine": judgement.engine, "ruleset": judgement.prompt, "model": judgement.model})
    tier = tier_of(frozenset({1} if judgement is None else {1, 2}), reviewed=review is not None)
    trust_score, trust_tier = trust_of(tier, verdict.score)
    predicate: dict[str, object] = {
        "skill": name,
        "commit": commit,
        "tier": tier.value,
        "score": verdict.score,
        "outcome": verdict.outcome.value,
        "path": verdict.path.value,
        "scans": scans,
        "certifiedAt": now.isoformat(),
    }
    if review is not None:
        predicate["review"] = {"ruling": review.ruling.value, "reason": review.reason, "at": review.at.isoformat()}
    return Certificate(
        tier=tier,
        method=METHOD[tier],
        score=verdict.score,
        trust_score=trust_score,
        trust_tier=trust_tier,
        certified_at=now,
        hallmark=sign_hallmark(manifest, predicate, keys.hallmark),
        oms_signature=sign_model(slug_in(name), manifest, keys.model),
    )


def tier_of(tiers_run: frozenset[int], *, reviewed: bool) -> Tier:
    """Return SCANNED for the static scan alone, VERIFIED with a judgement, CERTIFIED with a review."""
    if reviewed:
        return Tier.CERTIFIED
    return Tier.VERIFIED if 2 in tiers_run else Tier.SCANNED


def trust_of(tier: Tier, score: int) -> tuple[int, TrustTier]:
    """Return the trust score (0 to 100) and the trust level."""
    trust = round(score * WEIGHT[tier])
    return trust, next(step for least, step in STEPS if trust >= least)
