"""The stores that these tests run on."""

from tests.support.edge_stores import edge, edge_url, redis_server

__all__ = ["edge", "edge_url", "redis_server"]
