"""The state of the edge copy and the progress of a rebuild, as stored in it."""

from contextlib import suppress

from assay.edge.keys import REBUILD, STATE
from assay.edge.kv import Edge
from assay.edge.values import RebuildValue, StateValue, decode


async def read_state(edge: Edge) -> StateValue | None:
    """Return when the copy was last complete and the schema of its values; None if missing or unreadable."""
    [raw] = await edge.get([STATE])
    with suppress(ValueError):
        return decode(raw, StateValue) if raw is not None else None
    return None


async def read_rebuild(edge: Edge) -> RebuildValue | None:
    """Return the progress of an unfinished rebuild; None if there is none."""
    [raw] = await edge.get([REBUILD])
    with suppress(ValueError):
        return decode(raw, RebuildValue) if raw is not None else None
    return None
