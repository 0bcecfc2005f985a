"""Which of the two clouds a request is for, where in it, and what that cloud answers."""

from dataclasses import replace

from exporter.simulator import nsml, scp, scp_routes
from exporter.simulator.calls import Answer, Call
from exporter.simulator.faults import Aim, Faults
from exporter.simulator.mischief import answer_instead, spoil
from exporter.simulator.routes import AnyRoute, S
from exporter.simulator.world import World


def aim_of(call: Call) -> Aim | None:
    """Return what the request is aimed at; None where it is at neither cloud."""
    match call.segments:
        case ("scp", environment, region, *rest):
            template = _template(scp_routes.ROUTES, call, rest)
            return _aim(call, "scp", (environment, region), rest, template)
        case ("nsml", "v1", *rest):
            return _aim(call, "nsml", (None, None), rest, _template(nsml.ROUTES, call, rest))
        case _:
            return None


def struck(call: Call, faults: Faults, aim: Aim) -> Call:
    """Return the call with the faults that befall it."""
    return replace(call, strikes=faults.befall(aim))


def answer(world: World, call: Call) -> Answer:
    """Answer as the cloud that the call is for, with the faults that befall it."""
    instead = answer_instead(world, call)
    if instead is None:
        cloud = scp if call.segments[0] == "scp" else nsml
        instead = cloud.answer(world, call)
    return spoil(instead, call)


def _aim(
    call: Call,
    cloud: str,
    place: tuple[str | None, str | None],
    rest: list[str],
    template: str | None,
) -> Aim:
    page = call.query.get("page", "")
    return Aim(
        cloud=cloud,
        environment=place[0],
        region=place[1],
        method=call.method,
        path="/" + "/".join(rest),
        template=template,
        page=int(page)
        if page.isdecimal() and page.isascii() and len(page) < len("1" * 20)
        else None,
    )


def _template(routes: tuple[AnyRoute[S], ...], call: Call, segments: list[str]) -> str | None:
    fitting = [route for route in routes if route.ids(segments) is not None]
    same = [route.path for route in fitting if route.method == call.method]
    return next(iter(same or [route.path for route in fitting]), None)
