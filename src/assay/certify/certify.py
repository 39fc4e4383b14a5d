"""Certify a source: what was examined, how it came out, signed."""

from datetime import datetime

from assay.certify.hallmark import sign_hallmark
from assay.certify.keys import SigningKeys
from assay.certify.oms import sign_model
from assay.certify.tier import METHOD, tier_of, trust_of
from assay.model.naming import slug_in
from assay.model.review import Review
from assay.model.skill import Certificate
from assay.model.source import Manifest, Source
from assay.model.verdict import Weighed


def certify_source(
    name: str, source: Source, weighed: Weighed, keys: SigningKeys, now: datetime, review: Review | None = None
) -> Certificate:
    """The certificate of exactly these bytes under this name; of what a person has approved if there is a review."""
    return certify(name, source.manifest, source.commit, weighed, keys, now, review=review)


def certify(
    name: str,
    manifest: Manifest,
    commit: str,
    weighed: Weighed,
    keys: SigningKeys,
    now: datetime,
    *,
    review: Review | None = None,
) -> Certificate:
    """The same for whoever knows the files by their digests."""
    judgement, verdict = weighed.judgement, weighed.verdict
    scans: list[dict[str, object]] = [
        {"tier": 1, "engine": weighed.report.engine, "ruleset": weighed.report.ruleset, "score": weighed.static.score}
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
