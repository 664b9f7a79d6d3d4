"""A figure with its interval, as it is stored and written."""

from metajudge.types.frozen import Finite


class Figure(Finite):
    """A number with an interval where one was requested and is defined; None where there is no number."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends; the number itself twice where it has no interval.

        Raises:
            ValueError: there is no number.
        """
        if self.value is None:
            raise ValueError("a figure without a value has no interval")
        return (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)
