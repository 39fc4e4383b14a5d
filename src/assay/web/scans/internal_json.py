"""The JSON of scan nodes and of what they take."""

from datetime import datetime
from uuid import UUID

from assay.deepscan.messages import DispatchedScan
from assay.model.deep_scan import DeepTool
from assay.store.scans.scan_nodes import ScanNode
from assay.web.http.json import View


class PendingView(View, frozen=True):
    """Scans that wait, and how many wait for each tool (counted up to 10,000)."""

    scans: list[DispatchedScan]
    waiting: dict[str, int]


class ReleasedView(View, frozen=True):
    """How many scans wait again."""

    released: int


class RegisteredView(View, frozen=True):
    """How long a lease lasts, how many scans the node keeps, and which tools are wanted."""

    lease_seconds: int
    scans_kept: int
    tools: list[DeepTool]


class NodeView(View, frozen=True):
    """One node. `sandbox` says what its kernel refused to take from the tools; it should be empty."""

    id: UUID
    name: str
    url: str | None
    alive: bool
    capacity: int
    in_flight: int
    tools: dict[str, str]
    sandbox: dict[str, str]
    version: str
    push_failures: int
    seen_at: datetime


class NodesView(View, frozen=True):
    """The nodes that are known."""

    nodes: list[NodeView]


def present_node(node: ScanNode, *, is_alive: bool) -> NodeView:
    """A node."""
    return NodeView(
        id=node.id,
        name=node.name,
        url=node.url,
        alive=is_alive,
        capacity=node.capacity,
        in_flight=node.in_flight,
        tools=dict(node.tools),
        sandbox=dict(node.sandbox),
        version=node.version,
        push_failures=node.push_failures,
        seen_at=node.seen_at,
    )
