"""Series of measured values, and what is told of them."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Series:
    """Measured values of one kind: seconds, or ratios of them."""

    values: Sequence[float]

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def p99(self) -> float:
        """The 99th percentile; of fewer than 100 values the largest."""
        return self.quantile(0.99)

    @property
    def largest(self) -> float:
        """The largest value."""
        return max(self.values)

    def quantile(self, share: float) -> float:
        """Return the value that this share of all does not exceed."""
        ordered = sorted(self.values)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def milliseconds(seconds: float) -> str:
    """Write a time in milliseconds, with three digits."""
    value = seconds * 1000
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004 - digits


def mebibytes(size: float) -> str:
    """Write a size in MiB."""
    value = size / 2**20
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004 - digits


def growth(first: tuple[int, float], last: tuple[int, float]) -> float:
    """Return by which factor the cost of one node grew from the first size to the last."""
    return (last[1] / last[0]) / (first[1] / first[0])
