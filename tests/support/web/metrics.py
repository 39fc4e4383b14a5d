"""Prometheus metrics."""

import re


def series(metrics: str, name: str) -> dict[str, float]:
    """Return the values of a metric by labels."""
    lines = re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", metrics, re.MULTILINE)
    return {labels: float(value) for labels, value in lines}
