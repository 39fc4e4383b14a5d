"""Tier, method and trust, derived in one place from what was examined."""

from assay.model.skill import Method, Tier, TrustTier

# The share of the score that an examination of this depth can vouch for.
WEIGHT = {Tier.SCANNED: 0.6, Tier.VERIFIED: 0.85, Tier.CERTIFIED: 1.0}
METHOD = {Tier.SCANNED: Method.STATIC, Tier.VERIFIED: Method.JUDGE, Tier.CERTIFIED: Method.REVIEW}
STEPS = ((90, TrustTier.T4), (70, TrustTier.T3), (50, TrustTier.T2), (30, TrustTier.T1), (0, TrustTier.T0))


def tier_of(tiers_run: frozenset[int], *, reviewed: bool) -> Tier:
    """SCANNED by rules, VERIFIED by the judge too, CERTIFIED by a person too."""
    if reviewed:
        return Tier.CERTIFIED
    return Tier.VERIFIED if 2 in tiers_run else Tier.SCANNED


def trust_of(tier: Tier, score: int) -> tuple[int, TrustTier]:
    """A trust score of 0 to 100 and its tier."""
    trust = round(score * WEIGHT[tier])
    return trust, next(step for least, step in STEPS if trust >= least)
