"""The simulated Samsung Cloud Platform: its gateway, and what the service behind it does."""

from typing import NamedTuple

from exporter.simulator import errors, scp_versions
from exporter.simulator.auth import BadSignature, check_scp, is_scp_anonymous
from exporter.simulator.calls import Answer, Call
from exporter.simulator.errors import Refused
from exporter.simulator.fleet import Place, Region
from exporter.simulator.routes import find
from exporter.simulator.scp_routes import ROUTES
from exporter.simulator.world import World


class Site(NamedTuple):
    """Where in the SCP a path leads: a region, and the path within it."""

    place: Place
    segments: tuple[str, ...]


def locate(call: Call) -> Site:
    """Read `/scp/{environment}/{region}/…`."""
    _, environment, region, *rest = call.segments
    return Site(Place(environment, region), tuple(rest))


def answer(world: World, call: Call) -> Answer:
    """Answer as the gateway and the service behind it."""
    site = locate(call)
    region = world.regions.get(site.place)
    if region is None:
        return errors.scp_not_found(call, world.timeline.wall)
    if "".join(site.segments) == "" and call.method == "GET":
        return _versions(world, call, site)
    if is_scp_anonymous(call):
        return errors.scp_not_found(call, world.timeline.wall)
    try:
        check_scp(call, world.keys, world.timeline.wall)
    except BadSignature as error:
        return errors.scp_bad_signature(world.facts, str(error))
    return _service(world, call, region, site)


def _versions(world: World, call: Call, site: Site) -> Answer:
    address = f"{call.origin}/scp/{site.place.environment}/{site.place.region}"
    document = scp_versions.document(world.facts, world.timeline.wall, address)
    return Answer(200, document.model_dump_json().encode())


def _service(world: World, call: Call, region: Region, site: Site) -> Answer:
    try:
        reply = _operate(world, call, region, site)
    except Refused as refused:
        reply = errors.scp_service(call, refused)
    reply.headers["scp-request-id"] = f"req-{call.id}"
    return reply


def _operate(world: World, call: Call, region: Region, site: Site) -> Answer:
    if call.headers.get("Scp-AccountId", "") not in {"", region.account_id}:
        raise Refused(403, "The account is another one's")
    found = find(ROUTES, call.method, site.segments)
    if isinstance(found, Refused):
        raise found
    route, ids = found
    scp_versions.served(call, world.facts, world.timeline.wall)
    return route.run(region, world, call, ids)
