"""Scans as pages show them: the newest of each tier."""

from collections.abc import Sequence

from assay.model.finding import Capabilities
from assay.model.verdict import Scan


def newest_scan(scans: Sequence[Scan], tier: int) -> Scan | None:
    """Return the newest scan of a tier; scans are ordered newest first."""
    return next((scan for scan in scans if scan.tier == tier), None)


def capabilities_of(scans: Sequence[Scan]) -> Capabilities:
    """Return the capabilities that the newest static scan found; other tiers do not look for them."""
    static = newest_scan(scans, 1)
    return static.report.capabilities if static else Capabilities()
