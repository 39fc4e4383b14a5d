"""Certify a source: what was examined, how it came out, signed."""

from datetime import datetime

from assay.certify.hallmark import SigningKey, sign_hallmark
from assay.certify.tier import METHOD, tier_of, trust_of
from assay.model.finding import Report
from assay.model.review import Review
from assay.model.skill import Certificate
from assay.model.source import Source
from assay.model.verdict import Verdict


def certify_source(
    name: str,
    source: Source,
    report: Report,
    verdict: Verdict,
    key: SigningKey,
    now: datetime,
    review: Review | None = None,
) -> Certificate:
    """The certificate of exactly these bytes under this name; of what a person has approved if there is a review."""
    tier = tier_of(frozenset({1}), reviewed=review is not None)
    trust_score, trust_tier = trust_of(tier, verdict.score)
    predicate: dict[str, object] = {
        "skill": name,
        "commit": source.commit,
        "tier": tier.value,
        "score": verdict.score,
        "outcome": verdict.outcome.value,
        "path": verdict.path,
        "scans": [{"tier": 1, "engine": report.engine, "ruleset": report.ruleset}],
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
        hallmark=sign_hallmark(source.manifest, predicate, key),
    )
