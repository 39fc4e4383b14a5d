"""A registry with a judge on loopback, for every test of this package."""

from tests.support.judge import judged, judged_settings, model

__all__ = ["judged", "judged_settings", "model"]
