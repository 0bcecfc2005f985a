"""The simulator's own interface: faults, drills, facts and the truth over HTTP."""

from dataclasses import dataclass

from pydantic import BaseModel, RootModel

from exporter.simulator import truth
from exporter.simulator.calls import Answer, Call, as_json
from exporter.simulator.drills import Drills, UnknownTarget
from exporter.simulator.errors import Refused
from exporter.simulator.facts import Facts
from exporter.simulator.faults import AnyFault, Faults, Standing
from exporter.simulator.orders import DrillOrder, DrillReport
from exporter.simulator.routes import AnyRoute, Asked, Nothing, Route, find
from exporter.simulator.world import World


@dataclass(frozen=True)
class Controls:
    """All that can be set and asked from outside."""

    world: World
    faults: Faults
    drills: Drills


class FaultBody(RootModel[AnyFault]):
    """A fault to put in force."""


class StandingFault(BaseModel):
    """A fault in force, and how many requests it has befallen."""

    id: int
    struck: int
    fault: AnyFault


class FaultList(BaseModel):
    """The faults in force."""

    faults: list[StandingFault]


def list_faults(controls: Controls, _asked: Asked[Nothing, Nothing]) -> Answer:
    """List the faults in force."""
    return _shown(200, FaultList(faults=[_standing(each) for each in controls.faults]))


def add_fault(controls: Controls, asked: Asked[Nothing, FaultBody]) -> Answer:
    """Put a fault in force."""
    return _shown(201, _standing(controls.faults.add(asked.body.root)))


def clear_faults(controls: Controls, _asked: Asked[Nothing, Nothing]) -> Answer:
    """Lift all faults."""
    controls.faults.clear()
    return _shown(200, FaultList(faults=[]))


def clear_fault(controls: Controls, asked: Asked[Nothing, Nothing]) -> Answer:
    """Lift one fault."""
    number = asked.ids["id"]
    if not (number.isdecimal() and len(number) < 10 and controls.faults.clear(int(number))):  # noqa: PLR2004  # no fault has a longer one
        raise Refused(404, "There is no such fault")
    return list_faults(controls, asked)


def drill(controls: Controls, asked: Asked[Nothing, DrillOrder]) -> Answer:
    """Carry out a drill."""
    order = asked.body.root
    try:
        target = order.carry_out(controls.drills)
    except UnknownTarget as error:
        raise Refused(404, str(error)) from error
    return _shown(200, DrillReport(kind=order.kind, target=target))


def show_facts(_controls: Controls, asked: Asked[Nothing, Nothing]) -> Answer:
    """Show how the doubtful facts are chosen."""
    return _shown(200, asked.world.facts)


def choose_facts(_controls: Controls, asked: Asked[Nothing, Facts]) -> Answer:
    """Choose some of the doubtful facts anew; those that aren't named stay."""
    world = asked.world
    world.choose(world.facts.model_copy(update=asked.body.model_dump(exclude_unset=True)))
    return _shown(200, world.facts)


def tell_truth(_controls: Controls, asked: Asked[Nothing, Nothing]) -> Answer:
    """Tell what is true in both clouds."""
    return _shown(200, truth.tell(asked.world))


ROUTES: tuple[AnyRoute[Controls], ...] = (
    Route(
        "list_faults", "List the faults in force", "GET", "/_faults",
        Nothing, Nothing, 200, FaultList, list_faults,
    ),
    Route(
        "add_fault", "Put a fault in force", "POST", "/_faults",
        Nothing, FaultBody, 201, StandingFault, add_fault,
    ),
    Route(
        "clear_faults", "Lift all faults", "DELETE", "/_faults",
        Nothing, Nothing, 200, FaultList, clear_faults,
    ),
    Route(
        "clear_fault", "Lift one fault", "DELETE", "/_faults/{id}",
        Nothing, Nothing, 200, FaultList, clear_fault,
    ),
    Route(
        "drill", "Break something on purpose, or mend it", "POST", "/_drills",
        Nothing, DrillOrder, 200, DrillReport, drill,
    ),
    Route(
        "show_facts", "Show how the doubtful facts are chosen", "GET", "/_facts",
        Nothing, Nothing, 200, Facts, show_facts,
    ),
    Route(
        "choose_facts", "Choose some of the doubtful facts anew", "PATCH", "/_facts",
        Nothing, Facts, 200, Facts, choose_facts,
    ),
    Route(
        "tell_truth", "Tell what is true in both clouds", "GET", "/_truth",
        Nothing, Nothing, 200, truth.Truth, tell_truth,
    ),
)  # fmt: skip


def answer(controls: Controls, call: Call) -> Answer:
    """Answer a request to the simulator itself."""
    found = find(ROUTES, call.method, call.segments)
    try:
        if isinstance(found, Refused):
            raise found
        route, ids = found
        return route.run(controls, controls.world, call, ids)
    except Refused as refused:
        reply = as_json(refused.status, {"error": "; ".join(refused.reasons)})
        reply.headers.update(refused.headers)
        return reply


def _standing(standing: Standing) -> StandingFault:
    return StandingFault.model_validate(
        {"id": standing.id, "struck": standing.struck, "fault": standing.fault}
    )


def _shown(status: int, model: BaseModel) -> Answer:
    return Answer(status, model.model_dump_json().encode())
