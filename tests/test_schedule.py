"""When a target is polled next."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.schedule import Schedule, phase_of

INTERVAL, LONGEST = 30.0, 120.0
moments = st.floats(0, 1e9)
intervals = st.floats(0.001, 1e5)
phases = st.floats(0, 1, exclude_max=True)


def test_a_phase_belongs_to_a_name() -> None:
    """It is the same at every start, within one interval, and spread over it."""
    phases = [phase_of(f"scp/prod/e/kr-west1/collector-{number}") for number in range(400)]
    assert phases == [phase_of(f"scp/prod/e/kr-west1/collector-{number}") for number in range(400)]
    quarters = [sum(low <= 4 * phase < low + 1 for phase in phases) for low in range(4)]
    assert sum(quarters) == 400
    assert min(quarters) > 60


@given(phases, moments, intervals)
def test_the_next_moment_lies_ahead_by_an_interval_at_most(
    phase: float, now: float, interval: float
) -> None:
    """It is never now or past, or a target would be polled twice at one moment."""
    then = Schedule(phase).after(now, interval)
    assert now < then <= now + interval * (1 + 1e-9) + now * 1e-15


@pytest.mark.parametrize("phase", [0.0, 0.1, 0.25, 1 / 3, 0.999])
def test_moments_keep_their_phase(phase: float) -> None:
    """One follows the other by exactly the interval, however often."""
    schedule, now = Schedule(phase), 12_345.678
    first = now = schedule.after(now, INTERVAL)
    for _ in range(1000):
        now = schedule.after(now, INTERVAL)
    assert now == pytest.approx(first + 1000 * INTERVAL)


def test_rounding_does_not_give_a_moment_twice() -> None:
    """From one moment of the phase the next one is a whole interval away, whatever floats do."""
    dice = random.Random(1)  # noqa: S311 - made up, but always the same
    for _ in range(500):
        schedule, now, interval = Schedule(dice.random()), dice.uniform(0, 1e7), 0.1
        now = schedule.after(now, interval)
        then = schedule.after(now, interval)
        assert then - now == pytest.approx(interval, abs=1e-6)


def test_a_poll_that_took_long_skips_moments_and_keeps_the_phase() -> None:
    """The moments that passed meanwhile are not made up for."""
    schedule = Schedule(0.5)
    assert schedule.after(0.0, INTERVAL) == 15.0
    assert schedule.after(100.0, INTERVAL) == 105.0


@pytest.mark.parametrize("failures", [0, 1, 2, 3])
def test_up_to_three_failures_keep_the_interval(failures: int) -> None:
    """The wait does not change, nor does the phase."""
    then = Schedule(0.5).after_failures(15.0, 16.0, INTERVAL, LONGEST, failures)
    assert then == 45.0


@pytest.mark.parametrize(
    ("failures", "wait"), [(4, 60.0), (5, 120.0), (6, 120.0), (7, 120.0), (10_000, 120.0)]
)
def test_then_the_wait_doubles_up_to_the_longest(failures: int, wait: float) -> None:
    """Up to 20 % of it are taken off by chance, so that targets do not come back in step."""
    schedule = Schedule(0.5, random.Random(1))  # noqa: S311 - the same
    waits = [
        schedule.after_failures(15.0, 16.0, INTERVAL, LONGEST, failures) - 15.0 for _ in range(200)
    ]
    assert 0.8 * wait <= min(waits) < 0.85 * wait
    assert 0.95 * wait < max(waits) <= wait


@given(moments, st.floats(0, 500), intervals, st.floats(1, 10), st.integers(4, 100))
def test_no_wait_is_shorter_than_the_interval(
    began: float, took: float, interval: float, factor: float, failures: int
) -> None:
    """After three failures the target never asks more often than it would if all were well."""
    now = began + took
    then = Schedule(0.5).after_failures(began, now, interval, interval * factor, failures)
    assert then >= now
    assert then - began >= interval * (1 - 1e-9) - began * 1e-15
    assert then <= max(began + interval * factor, now) * (1 + 1e-12)
