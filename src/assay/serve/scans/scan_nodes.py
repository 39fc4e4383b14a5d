"""Scan nodes as they are now."""

from datetime import datetime, timedelta

from assay.store.scans.scan_nodes import ScanNode


def is_node_alive(node: ScanNode, now: datetime, lease: timedelta) -> bool:
    """Whether it was seen lately enough to keep its scans."""
    return now - node.seen_at <= lease
