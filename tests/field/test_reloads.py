"""Reloads of the whole exporter: broken ones, and many."""

import gc

from tests.field.rig import NODES, PREFIX, Field
from tests.simulated import samples, value, write
from tests.tasks import lasting_tasks


async def test_a_broken_file_leaves_the_old_configuration_at_work(field: Field) -> None:
    """500 with the reason, a metric that says so, and polls that go on; a good file mends it."""
    await field.start()
    before = await field.objects()
    write(field.file, "scp: [\n")
    status, why = await field.ask("/-/reload", "POST")
    assert status == 500
    assert why.strip()
    polls = await field.own("polls_total")
    await field.next_poll()
    assert await field.own("polls_total", **NODES) == (polls or 0) + 1
    assert await field.objects() == before
    successful = f"{PREFIX}config_last_reload_successful"
    assert value(await field.page(), successful) == 0.0
    field.configure()
    assert (await field.ask("/-/reload", "POST"))[0] == 200
    assert value(await field.page(), successful) == 1.0


async def test_fifty_reloads_keep_what_stays_and_leave_nothing(field: Field) -> None:
    """Every other one changes the account; the cloud of the other account never notices."""
    await field.start(nsml=True)
    runs = {"collector": "runs"}
    kept = field.poller(**runs)
    polls = await field.own("polls_total", **NODES)
    lines = len(samples(await field.page()))
    tasks, objects = len(lasting_tasks()), tracked(field)
    for number in range(50):
        field.configure(nsml=True, polling=f"interval: {30 + number % 2}s")
        assert (await field.ask("/-/reload", "POST"))[0] == 200
        await field.quiet()
    assert field.poller(**runs) is kept
    assert field.requests("/projects/runs") == []  # since the count began
    assert await field.own("polls_total", **NODES) == (polls or 0) + 49
    assert len(samples(await field.page())) == lines
    assert len(lasting_tasks()) == tasks
    assert tracked(field) < objects * 1.02


def tracked(field: Field) -> int:
    """Count the objects that are alive, but for what the simulator writes down."""
    field.simulator.requests.clear()
    gc.collect()
    return len(gc.get_objects())
