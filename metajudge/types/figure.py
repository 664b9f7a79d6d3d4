"""A figure with its interval, as it is stored and written.

What has more to say inherits from one of the two. JSON lists the fields of a record's last base first: in
``class Check(WithInterval, Named)`` the interval stands behind what ``Named`` has.
"""

from typing import Generic, TypeAlias, TypeVar

from metajudge.types.frozen import Finite

Ends: TypeAlias = tuple[float, float]
"""Lower and upper end of an interval."""

EndsT = TypeVar("EndsT", bound=Ends | None)
ValueT = TypeVar("ValueT", bound=float | None)


class Figure(Finite):
    """A number with an interval where one was requested and is defined; None where there is no number."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> Ends:
        """Both ends; the number itself twice where it has no interval.

        Raises:
            ValueError: there is no number.
        """
        if self.value is None:
            raise ValueError("a figure without a value has no interval")
        return (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)


class WithInterval(Finite, Generic[EndsT]):
    """A record whose figure has an interval, written as a pair; None, where ``EndsT`` allows it, without one."""

    interval: EndsT


class _Valued(Finite, Generic[ValueT]):
    estimate: ValueT


class Estimated(WithInterval[Ends | None], _Valued[ValueT], Generic[ValueT]):
    """An estimate with its interval; None where it cannot be made."""
