"""Simulated time."""

from exporter.simulator.timeline import Timeline
from tests.simulator.cloud_client import START, SetClock


def test_nothing_is_due_before_its_time(clock: SetClock) -> None:
    """An action waits until the clock has come to its instant, and is carried out once."""
    timeline, done = Timeline(clock, 1.0), []
    timeline.after(10.0, lambda: done.append(timeline.now))
    clock.time += 9.9
    timeline.catch_up()
    assert done == []
    clock.time += 0.2
    timeline.catch_up()
    timeline.catch_up()
    assert done == [10.0]


def test_actions_happen_in_order_each_at_its_own_instant(clock: SetClock) -> None:
    """What comes due between two looks sees its own time, and can plan from there."""
    timeline, seen = Timeline(clock, 1.0), []

    def first() -> None:
        seen.append(("first", timeline.now, timeline.wall))
        timeline.after(1.0, lambda: seen.append(("second", timeline.now, timeline.wall)))

    timeline.after(5.0, lambda: seen.append(("third", timeline.now, timeline.wall)))
    timeline.after(2.0, first)
    clock.time += 60
    timeline.catch_up()
    assert seen == [
        ("first", 2.0, START + 2),
        ("second", 3.0, START + 3),
        ("third", 5.0, START + 5),
    ]


def test_speed_stretches_simulated_time(clock: SetClock) -> None:
    """At ten simulated seconds a second, what takes a minute is seen six seconds later."""
    timeline, seen = Timeline(clock, 10.0), []
    timeline.after(60.0, lambda: seen.append(timeline.wall))
    clock.time += 8
    timeline.catch_up()
    assert seen == [START + 6]
    assert timeline.now == 80.0


def test_speed_zero_stands_still_but_can_be_pushed(clock: SetClock) -> None:
    """With speed 0 the clock moves nothing; `advance` does, and timestamps stay the clock's."""
    timeline, seen = Timeline(clock, 0.0), []
    timeline.after(1.0, lambda: seen.append(timeline.wall))
    clock.time += 1000
    timeline.catch_up()
    assert seen == []
    timeline.advance(2.0)
    assert seen == [START + 1000]


def test_a_clock_that_is_set_back_does_not_turn_time_back(clock: SetClock) -> None:
    """Simulated time and timestamps never decrease."""
    timeline = Timeline(clock, 1.0)
    clock.time += 100
    timeline.catch_up()
    clock.time -= 50
    timeline.catch_up()
    assert (timeline.now, timeline.wall) == (100.0, START + 100)
