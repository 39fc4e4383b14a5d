"""Queue limits for tests."""

from datetime import timedelta

from assay.model.submission import ACTIVE
from assay.serve.operations.facts import WatchLimits

LIMITS = WatchLimits(stuck=dict.fromkeys(ACTIVE, timedelta(seconds=300)))
