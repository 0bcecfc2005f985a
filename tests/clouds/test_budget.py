"""The budget: so many at once, so many a second, the urgent ones first."""

import asyncio

import pytest

from exporter.clouds.budget import Budget


class Race:
    """Requests that note when they hold a place, and hold it until they are let go."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.entered: list[str] = []
        self.at_once = 0
        self.most = 0
        self.go = asyncio.Event()

    def start(self, name: str, *, urgent: bool = True) -> asyncio.Task[None]:
        """Begin a request."""
        return asyncio.create_task(self._run(name, urgent))

    async def _run(self, name: str, urgent: bool) -> None:  # noqa: FBT001 - passed on
        async with self.budget.slot(urgent=urgent):
            self.entered.append(name)
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            await self.go.wait()
            self.at_once -= 1


async def settle() -> None:
    """Let every task come as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_no_more_than_so_many_are_sent_at_once() -> None:
    """The others wait for a place, and get it as soon as one is free."""
    race = Race(Budget(1000.0, 3))
    tasks = [race.start(f"{number}") for number in range(10)]
    await settle()
    assert len(race.entered) == 3
    race.go.set()
    await asyncio.gather(*tasks)
    assert len(race.entered) == 10
    assert race.most == 3


async def test_so_many_a_second_are_sent_and_no_more() -> None:
    """After a first burst of one second's worth the rate holds."""
    budget = Budget(100.0, 50)
    loop = asyncio.get_running_loop()
    began = loop.time()
    for _ in range(110):
        async with budget.slot():
            pass
    assert loop.time() - began >= 0.09


async def test_less_than_one_a_second_is_a_rate_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """At one in ten seconds the second request waits ten seconds."""
    loop = asyncio.get_running_loop()
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now)
    race = Race(Budget(0.1, 5))
    first, second = race.start("first"), race.start("second")
    race.go.set()
    await settle()
    now += 9.9
    await settle()
    assert race.entered == ["first"]
    now += 0.2
    await settle()
    assert race.entered == ["first", "second"]
    await asyncio.gather(first, second)


async def test_urgent_requests_go_before_patient_ones() -> None:
    """Of the patient ones no more than one stands before any urgent one."""
    race = Race(Budget(1000.0, 1))
    tasks = [race.start("running")]
    await settle()
    tasks += [race.start(f"patient {number}", urgent=False) for number in range(3)]
    await settle()
    tasks += [race.start(f"urgent {number}") for number in range(3)]
    await settle()
    race.go.set()
    await asyncio.gather(*tasks)
    assert race.entered == [
        "running",
        "patient 0",
        "urgent 0",
        "urgent 1",
        "urgent 2",
        "patient 1",
        "patient 2",
    ]


@pytest.mark.parametrize("urgent", [True, False])
async def test_whoever_gives_up_leaves_no_trace(urgent: bool) -> None:  # noqa: FBT001
    """A request that is cancelled while it waits, or while it is sent, keeps no place."""
    race = Race(Budget(1000.0, 1))
    tasks = [race.start(f"{number}", urgent=urgent) for number in range(4)]
    await settle()
    for task in (tasks[2], tasks[0], tasks[1]):
        task.cancel()
        await settle()
    assert race.entered[-1] == "3"
    race.go.set()
    await tasks[3]
    late = race.start("patient", urgent=False)
    await asyncio.gather(late, race.start("urgent"))
    assert {"patient", "urgent"} <= set(race.entered)


async def test_whoever_gives_up_while_waiting_for_the_rate_frees_the_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A place that was held while the rate allowed nothing is free for the next."""
    loop = asyncio.get_running_loop()
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now)
    race = Race(Budget(1.0, 1))
    race.go.set()
    await race.start("first")
    waiting = race.start("gives up")
    await settle()
    waiting.cancel()
    await settle()
    now += 1.1
    await race.start("next")
    assert race.entered == ["first", "next"]


async def test_a_request_that_fails_gives_its_place_back() -> None:
    """What happens within makes no difference."""
    budget = Budget(1000.0, 1)
    with pytest.raises(ZeroDivisionError):
        async with budget.slot():
            raise ZeroDivisionError
    async with budget.slot(urgent=False):
        assert budget.requests_per_second == 1000.0
