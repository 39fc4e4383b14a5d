"""Opens the store named by ASSAY_EDGE_URL."""

from pathlib import Path

from assay.edge.kv import Edge
from assay.edge.lmdb import LmdbEdge
from assay.edge.redis import RedisEdge
from assay.model.errors import Invalid

FOLDER = "edge"


def open_edge(url: str, data_dir: Path) -> Edge:
    """Return the store for `lmdb:` (in the data directory), `lmdb:/folder`, `redis://…` or `rediss://…`.

    Connects on first use, so that processes start while the store is down. Raises Invalid for other schemes.
    """
    scheme, _, rest = url.partition(":")
    match scheme:
        case "lmdb":
            return LmdbEdge(Path(rest) if rest else data_dir / FOLDER)
        case "redis" | "rediss":
            return RedisEdge(url)
        case _:
            raise Invalid("ASSAY_EDGE_URL must be lmdb:, lmdb:/folder or redis://host:6379/0.", code="bad_setting")
