"""What a Prometheus would store of the pages that it scrapes, as input of promtool."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

STEP = 15  # seconds from one scrape to the next
JOB = "gpu-cluster-exporter"
_SAMPLE = re.compile(r"^(?P<name>\w+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_LEAST_RUN = 3  # equal steps from which on they are written as one


@dataclass(slots=True)
class Recorder:
    """Series by their text, each with a value a scrape; None where it has none.

    Only `wanted` names are kept, of series that have the labels asked for. Unix times count from
    the `start`, that of the first scrape, at which the time of promtool begins as well.
    """

    wanted: Mapping[str, Sequence[Mapping[str, str]]]
    start: float = 0.0
    scrapes: int = 0
    series: dict[str, list[float | None]] = field(default_factory=dict)

    def next(self, now: float) -> None:
        """Begin another scrape."""
        if not self.scrapes:
            self.start = now
        self.scrapes += 1

    def page(self, page: bytes, target: Mapping[str, str]) -> None:
        """Take in what a target answered."""
        self.value("up", target, 1)
        for line in page.decode().splitlines():
            found = _SAMPLE.match(line)
            if found is not None and found["name"] in self.wanted:
                # With honor_labels the page's own labels stand.
                labels = {**target, **dict(_LABEL.findall(found["labels"] or ""))}
                if any(asked.items() <= labels.items() for asked in self.wanted[found["name"]]):
                    self.value(found["name"], labels, float(found["value"]))

    def down(self, target: Mapping[str, str]) -> None:
        """Note that a target did not answer."""
        self.value("up", target, 0)

    def value(self, name: str, labels: Mapping[str, str], value: float) -> None:
        """Note a value of a series at this scrape."""
        text = ",".join(f'{label}="{labels[label]}"' for label in sorted(labels) if labels[label])
        values = self.series.setdefault(f"{name}{{{text}}}", [])
        values += [None] * (self.scrapes - 1 - len(values))
        moment = name.endswith("_timestamp_seconds") and value  # 0 is never, and stays so
        values.append(round(value - self.start if moment else value, 3))

    def lines(self) -> Iterator[str]:
        """Yield the series as promtool reads them, in YAML."""
        for text in sorted(self.series):
            values = self.series[text]
            values += [None] * (self.scrapes - len(values))
            yield f"- series: '{text}'"
            yield f"  values: '{' '.join(notation(values))}'"


def notation(values: Sequence[float | None]) -> Iterator[str]:
    """Yield values in promtool's notation; where a series ends it becomes stale."""
    place = 0
    last: float | None = None
    while place < len(values):
        value = values[place]
        if value is None:
            end = _end(values, place, None)
            if last is not None:
                yield "stale"
                place += 1
            if end > place and end < len(values):
                yield f"_x{end - place}"
            last, place = None, end
            continue
        step = _step(values, place)
        end = _end(values, place, step)
        if end - place < _LEAST_RUN:
            yield _number(value)
            end = place + 1
        elif step:
            sign = "+" if step > 0 else "-"
            yield f"{_number(value)}{sign}{_number(abs(step))}x{end - place - 1}"
        else:
            yield f"{_number(value)}x{end - place - 1}"
        last, place = value, end


def _step(values: Sequence[float | None], place: int) -> float:
    """Return how much the value after this one differs from it."""
    if place + 1 >= len(values):
        return 0.0
    value, following = values[place], values[place + 1]
    return 0.0 if value is None or following is None else round(following - value, 3)


def _end(values: Sequence[float | None], place: int, step: float | None) -> int:
    """Return where a run ends that grows by the same step; without a step, one of nothing."""
    end = place + 1
    while end < len(values):
        before, value = values[end - 1], values[end]
        if step is None:
            if value is not None:
                break
        elif value is None or before is None or round(value - before, 3) != step:
            break
        end += 1
    return end


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
