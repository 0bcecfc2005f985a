"""The history of states."""

from exporter.simulator.history import GONE_KEPT, RETENTION_SECONDS, Gone, History


def test_the_state_in_force_at_the_start_is_kept() -> None:
    """Of what is older than the retention, only the last state is told: it was still true."""
    history = History()
    for at, state in ((0.0, "CREATING"), (10.0, "RUNNING"), (2000.0, "STOPPING")):
        history.record("a", state, at)
    told = history.of("a", 10.0 + RETENTION_SECONDS + 1)
    assert [change.state for change in told] == ["RUNNING", "STOPPING"]


def test_what_is_gone_is_told_of_for_a_while() -> None:
    """An object that left the lists ends in None, and is forgotten after the retention."""
    history = History()
    history.record("a", "RUNNING", 0.0)
    history.bury(Gone("node", "e/r", "a", "node-1", 5.0))
    assert [gone.id for gone in history.gone("node", "e/r", 6.0)] == ["a"]
    assert history.of("a", 6.0)[-1].state is None
    history.bury(Gone("node", "e/r", "b", "node-2", 6.0 + RETENTION_SECONDS))
    assert history.of("a", 6.0 + RETENTION_SECONDS) == []


def test_memory_is_bounded_however_many_objects_go() -> None:
    """A flood of objects that come and go leaves a bounded number behind."""
    history = History()
    for number in range(2 * GONE_KEPT):
        history.record(str(number), "RUNNING", 0.0)
        history.bury(Gone("node", "e/r", str(number), "n", 0.0))
    assert len(history._changes) == GONE_KEPT
    assert len(history.gone("node", "e/r", 0.0)) == GONE_KEPT


def test_an_object_that_came_back_keeps_its_history() -> None:
    """The burial of an object that is listed again no longer ends its history."""
    history = History()
    history.bury(Gone("node", "e/r", "a", "n", 0.0))
    history.record("a", "RUNNING", 1.0)
    history.bury(Gone("node", "e/r", "b", "n", 2 * RETENTION_SECONDS))
    assert history.of("a", 2 * RETENTION_SECONDS)[-1].state == "RUNNING"
