"""Everything that is simulated, in one place: two clouds on one timeline."""

import random
from collections.abc import Sequence

from exporter.simulator.facts import Facts
from exporter.simulator.fleet import PLACES, Fabric, Node, Place
from exporter.simulator.history import History
from exporter.simulator.keys import Keys
from exporter.simulator.runs import RunSource
from exporter.simulator.seeding import seed_regions
from exporter.simulator.timeline import Timeline


class World:
    """The state that all requests are answered from.

    Objects, ids and names follow from `seed` alone, times from the timeline's clock too.
    """

    def __init__(
        self, timeline: Timeline, nodes: int, seed: int, places: Sequence[Place] = PLACES
    ) -> None:
        # One source of chance a purpose: a request to one part never changes another.
        self.chance = random.Random(f"{seed} operations")
        self.order = random.Random(f"{seed} order")
        self.seed = seed
        self.timeline = timeline
        self.facts = Facts()
        self.history = History()
        self.keys = Keys(random.Random(f"{seed} keys"))
        self.regions = seed_regions(
            random.Random(f"{seed} fleet"), nodes, timeline.began, list(places)
        )
        self.run_source = RunSource(random.Random(f"{seed} runs"))
        self.projects = self.run_source.seed(nodes, timeline.began)
        self._record_start()

    def change(self, item: Node | Fabric, state: str) -> None:
        """Put a node or fabric into a state, now."""
        item.state = state
        if isinstance(item, Node):
            item.changes += 1
        self.touch(item)
        self.history.record(item.id, state, self.timeline.wall)

    def touch(self, item: Node | Fabric) -> None:
        """Note that something about a node or fabric changed, now."""
        item.modified_at = self.timeline.wall
        if isinstance(item, Node):
            item.rendered.clear()

    def choose(self, facts: Facts) -> None:
        """Behave as `facts` say from now on."""
        self.facts = facts
        for region in self.regions.values():
            for fabric in region.fabrics.values():
                if fabric.state in {"RUNNING", "ACTIVE"} and fabric.state != facts.scp_fabric_state:
                    self.change(fabric, facts.scp_fabric_state)

    def _record_start(self) -> None:
        began = self.timeline.began
        for region in self.regions.values():
            items: list[Node | Fabric] = [*region.nodes.values(), *region.fabrics.values()]
            for item in items:
                self.history.record(item.id, item.state, began)
        for project in self.projects.values():
            for run in project.runs.values():
                self.history.record(run.key, run.status, began)
                for node in run.nodes:
                    self.history.record(node.id, node.state, began)
