"""What the copy says of itself."""

from contextlib import suppress

from assay.edge.keys import REBUILD, STATE
from assay.edge.kv import Edge
from assay.edge.values import RebuildValue, StateValue, decode


async def read_state(edge: Edge) -> StateValue | None:
    """Until when it is complete, and in which form; None if it says nothing that can be read."""
    [raw] = await edge.get([STATE])
    with suppress(ValueError):
        return decode(raw, StateValue) if raw is not None else None
    return None


async def read_rebuild(edge: Edge) -> RebuildValue | None:
    """How far a rebuild has come that has not ended."""
    [raw] = await edge.get([REBUILD])
    with suppress(ValueError):
        return decode(raw, RebuildValue) if raw is not None else None
    return None
