"""The drills on several regions, replicas and on the exporter itself, by the minute."""

from exporter.simulator.faults import (
    DateSkew,
    FieldValue,
    MovingRows,
    Refuse,
    Reset,
)
from exporter.simulator.server import Simulator
from recordings.configurations import nsml, scp
from recordings.drills import Fleet
from recordings.stage import Stage

_ACCOUNTS = (
    ("prod", "e", "kr-west1, kr-east1"),
    ("lab", "g", "kr-south1, kr-south2"),
)


async def regions(stage: Stage) -> None:
    """Blind regions, accounts and clouds; bring them back one by one; one region is empty."""
    simulator = stage.simulator
    project = next(iter(simulator.world.projects.values()))
    run = next(run.name for run in project.runs.values() if run.running)
    exporter = await stage.replica(
        scp(
            simulator.url,
            accounts=_ACCOUNTS,
            collectors="gpu_nodes",
            interval="15s",
            more=nsml(simulator.url, [(project.id, run)], interval="15s"),
        )
    )
    await stage.until(3, "calm")
    simulator.drills.kill_region("e", "kr-west1")
    await stage.until(16, "outage")
    simulator.drills.revive_region("e", "kr-west1")
    await stage.until(20, "back")
    simulator.drills.kill_region("e", "kr-west1")
    simulator.drills.kill_region("e", "kr-east1")
    await stage.until(32, "outage")
    simulator.drills.revive_region("e", "kr-west1")
    await stage.until(34, "outage")
    simulator.drills.revive_region("e", "kr-east1")
    await stage.until(40, "back")
    lost = [simulator.faults.add(Reset(cloud="scp")), simulator.faults.add(Reset(cloud="nsml"))]
    await stage.until(52, "outage")
    for fault in lost:
        simulator.faults.clear(fault.id)
    await stage.until(56, "back")
    await exporter.stop()
    await stage.until(57, "restart")
    await exporter.start()
    await stage.until(60, "back")
    await exporter.stop()
    await stage.until(72, "outage")
    await exporter.start()
    await stage.until(75, "back")


async def replicas(stage: Stage) -> None:
    """Run two replicas, of which one is behind, disagrees, is stuck or starts anew."""
    other = Simulator(5, seed=5, clock=stage.clock.wall, speed=0, alive=False, places=[stage.place])
    async with other:
        stage.also.append(other)
        first = await stage.replica(
            scp(stage.simulator.url), cluster="seoul", region="dc1", pod="a"
        )
        second = await stage.replica(
            scp(other.url), simulator=other, phase=0.4, cluster="seoul", region="dc1", pod="b"
        )
        here, there = stage.simulator.drills, other.drills
        fleet = Fleet(stage)
        node = fleet.nodes(fleet.fabrics[1])[0].id
        await stage.until(2, "calm")
        here.fail_node(node)
        there.fail_node(node)
        await stage.until(5, "both")
        here.recover_node(node)
        there.recover_node(node)
        await stage.until(8, "back")
        here.fail_node(node)
        await stage.until(13, "disagree")
        here.recover_node(node)
        await stage.until(16, "back")
        here.fail_node(node)
        there.fail_node(node)
        await stage.until(18, "both")
        there.kill_region("e", "kr-west1")
        await stage.until(20, "stuck")
        here.recover_node(node)
        await stage.until(23, "back")
        there.revive_region("e", "kr-west1")
        there.recover_node(node)
        await stage.until(26, "back")
        here.vanish_node(node)
        there.vanish_node(node)
        await stage.until(29, "vanished")
        await first.stop()
        await stage.until(30, "restart")
        await first.start()
        await second.stop()
        await stage.until(31, "restart")
        await second.start()
        await stage.until(33, "vanished")
        here.return_node(node)
        there.return_node(node)
        await stage.until(36, "back")


async def exporter(stage: Stage) -> None:
    """Break the exporter and its targets in every way; stop it; take the account out."""
    simulator = stage.simulator
    text = scp(
        simulator.url,
        collectors="gpu_nodes, cluster_fabrics",
        interval="15s",
    ).replace("    endpoint", "    credentials_expire: 2027-12-25\n    endpoint")
    daemon = await stage.replica(text)
    await stage.until(2, "calm")
    faults = simulator.faults
    faults.add(FieldValue(path="/v1/gpu-nodes", field="created_at", values=["nonsense"]))
    faults.add(DateSkew(seconds=120))
    await daemon.reload(text.replace("2027-12-25", "2027-01-25"))
    await daemon.reload("scp: nonsense\n")
    stage.lag = 2.0
    await stage.until(20, "fault")
    await daemon.stop()
    await stage.until(24, "outage")
    faults.clear()
    stage.lag = 0.0
    daemon.file.write_text(text.replace("account: prod", "account: other"))
    await daemon.listen()
    await stage.until(24.5, "restart")
    await daemon.start()
    await stage.until(31, "deleted")


async def refused(stage: Stage) -> None:
    """Refuse the credentials, through outages; accept them; refuse them till the account goes."""
    simulator = stage.simulator
    text = scp(simulator.url, interval="15s", collectors="gpu_nodes, api_versions")
    daemon = await stage.replica(text)
    await stage.until(2, "calm")
    refusal = simulator.faults.add(Refuse(cloud="scp", path="/v1"))
    await stage.until(6, "fault")
    down = simulator.faults.add(Reset(cloud="scp"))
    await stage.until(26, "outage")
    await daemon.stop()
    await stage.until(28, "outage")
    await daemon.start()
    simulator.faults.clear(down.id)
    await stage.until(32, "fault")
    simulator.faults.clear(refusal.id)
    await stage.until(36, "back")
    refusal = simulator.faults.add(Refuse(cloud="scp", path="/v1"))
    await stage.until(48, "fault")
    simulator.faults.clear(refusal.id)
    await daemon.reload(text.replace("account: prod", "account: other"))
    await stage.until(50, "deleted")


async def partial(stage: Stage) -> None:
    """Move rows while they are read, through outages; take the account out, and back in."""
    simulator = stage.simulator
    text = scp(simulator.url, interval="15s", collectors="gpu_nodes").replace(
        "catalog_interval", "page_size: 2, catalog_interval"
    )
    daemon = await stage.replica(text)
    await stage.until(2, "calm")
    simulator.faults.add(MovingRows(path="/v1/gpu-nodes"))
    await stage.until(20, "fault")
    down = simulator.faults.add(Reset(cloud="scp"))
    await stage.until(27, "outage")
    await daemon.stop()
    await stage.until(28, "outage")
    await daemon.start()
    simulator.faults.clear(down.id)
    await stage.until(31, "fault")
    await daemon.reload(text.replace("account: prod", "account: other"))
    await stage.until(33, "deleted")
    simulator.faults.clear()
    await daemon.reload(text)
    await stage.until(35, "back")


async def large(stage: Stage) -> None:
    """Serve a large page; start the exporter anew; then have it write less."""
    text = scp(stage.simulator.url, series="all", interval="10m", collectors="gpu_nodes")
    daemon = await stage.replica(text)
    await stage.until(2, "fault")
    await daemon.stop()
    await stage.until(4, "outage")
    await daemon.listen()
    await stage.until(4.5, "restart")
    await daemon.start()
    await stage.until(5.5, "restart")
    await daemon.reload(text.replace("state_series: all", "state_series: current"))
    await stage.until(7, "deleted")
