"""The edge stores under test."""

from tests.support.edge_stores import edge, edge_url, redis_server

__all__ = ["edge", "edge_url", "redis_server"]
