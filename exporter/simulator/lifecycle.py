"""How SCP nodes and fabrics go from state to state, in simulated time.

Every way leads through a transitional state that lasts a while. The real ones last up to an hour;
these last seconds, and the simulator's speed stretches them.
"""

from collections.abc import Callable, Iterable

from exporter.simulator.fleet import Fabric, Node, Region
from exporter.simulator.history import Gone
from exporter.simulator.world import World

LASTS = {"CREATING": 40.0, "STARTING": 12.0, "STOPPING": 8.0, "EDITING": 6.0, "TERMINATING": 15.0}
TERMINATED_LISTED = 30.0
STAGGER = 1.5  # seconds between two nodes of one operation


class Lifecycle:
    """Carries out what operations, drills and chance do to the nodes of one region."""

    def __init__(self, world: World, region: Region) -> None:
        self._world = world
        self._region = region

    def create(self, nodes: list[Node]) -> None:
        """List new nodes of one fabric, and bring them up one after another."""
        fabric = nodes[0].fabric
        if not fabric.nodes:
            self._world.change(fabric, "CREATING")
        for node in nodes:
            self._region.add(node)
        self._edit(fabric, LASTS["CREATING"] + STAGGER * len(nodes))
        self._each(nodes, "CREATING", lambda node: self.put(node, "RUNNING"))

    def stop(self, nodes: Iterable[Node]) -> None:
        """Stop running nodes."""
        self._each(nodes, "STOPPING", lambda node: self.put(node, "STOPPED"))

    def start(self, nodes: Iterable[Node]) -> None:
        """Start stopped nodes."""
        self._each(nodes, "STARTING", lambda node: self.put(node, "RUNNING"))

    def terminate(self, nodes: Iterable[Node]) -> None:
        """Terminate nodes: they leave the list, and a fabric goes with its last one."""
        self._each(nodes, "TERMINATING", self._end)

    def set_nat(self, node: Node, address: str | None) -> None:
        """Give a node a public address, or take it away."""
        before = node.state

        def settle(node: Node) -> None:
            node.nat_ip = address
            self.put(node, before)

        self._each([node], "EDITING", settle)

    def move(self, nodes: list[Node], target: Fabric) -> None:
        """Move nodes from their fabric to another of the same pool."""
        before = {node.id: node.state for node in nodes}

        def arrive(node: Node) -> None:
            self.rehome(node, target)
            self.put(node, before[node.id])

        source, lasts = nodes[0].fabric, LASTS["EDITING"] + STAGGER * len(nodes)
        self._edit(source, lasts)
        self._edit(target, lasts)
        self._each(nodes, "EDITING", arrive)

    def put(self, node: Node, state: str) -> None:
        """Put a node into a state at once."""
        self._world.change(node, state)
        self.settle(node.fabric)

    def rehome(self, node: Node, target: Fabric) -> None:
        """Make a node a member of another fabric; the one it leaves goes with its last node."""
        source = node.fabric
        del source.nodes[node.id]
        node.fabric = target
        target.nodes[node.id] = node
        self.settle(source)

    def remove(self, node: Node) -> None:
        """Strike a node off the list."""
        del self._region.nodes[node.id]
        del node.fabric.nodes[node.id]
        node.changes += 1
        self._bury("node", node)
        self.settle(node.fabric)

    def settle(self, fabric: Fabric) -> None:
        """Put a fabric into the state that follows from its nodes; without any, strike it off."""
        if not fabric.nodes and not fabric.edits:
            del self._region.fabrics[fabric.id]
            self._bury("fabric", fabric)
            return
        state = self._state_of(fabric)
        if state != fabric.state and not fabric.held:
            self._world.change(fabric, state)

    def _state_of(self, fabric: Fabric) -> str:
        states = {node.state for node in fabric.nodes.values()}
        if states <= {"TERMINATING", "TERMINATED"}:
            return "DELETING"
        if fabric.state == "CREATING" and fabric.edits:
            return "CREATING"
        return "EDITING" if fabric.edits else self._world.facts.scp_fabric_state

    def _edit(self, fabric: Fabric, lasts: float) -> None:
        """Have a fabric in change for so long."""

        def done() -> None:
            fabric.edits -= 1
            self.settle(fabric)

        fabric.edits += 1
        self.settle(fabric)
        self._world.timeline.after(lasts, done)

    def _each(self, nodes: Iterable[Node], state: str, then: Callable[[Node], None]) -> None:
        """Put each node into a transitional state, and do `then` when it has lasted."""
        for number, node in enumerate(nodes):
            self.put(node, state)
            self._later(node, LASTS[state] + STAGGER * number, then)

    def _later(self, node: Node, seconds: float, then: Callable[[Node], None]) -> None:
        """Do `then` after so long, unless something else has become of the node by then."""
        planned = node.changes

        def due() -> None:
            if node.changes == planned:
                then(node)

        self._world.timeline.after(seconds, due)

    def _end(self, node: Node) -> None:
        if self._world.facts.scp_terminated == "gone":
            self.remove(node)
            return
        self.put(node, "TERMINATED")
        self._later(node, TERMINATED_LISTED, self.remove)

    def _bury(self, kind: str, item: Node | Fabric) -> None:
        owner = "/".join(self._region.place)
        wall = self._world.timeline.wall
        self._world.history.bury(Gone(kind, owner, item.id, item.name, wall))
