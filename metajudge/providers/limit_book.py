"""The arithmetic of what processes share: token buckets, calls in flight, a budget a day. Pure; time is given."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

T = TypeVar("T")

LEASE_S: Final = 10.0
"""Seconds after which the call of a process that was not heard of is taken for ended."""
POLL_S: Final = (0.01, 0.25)
"""The first and the longest pause between two questions for a free place or for room."""
DAY_S: Final = 86_400
TOLERANCE: Final = 1e-12
"""Float noise of sums of dollars."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A token bucket: units a minute, spread evenly.

    Attributes:
        per_minute: its rate.
        paid_until: the second until which what has started uses it up.
        burst_s: what comes in so many seconds may start at once.
    """

    per_minute: float
    paid_until: float = -float("inf")
    burst_s: float = 1.0

    def wait(self, now: float) -> float:
        """Seconds until something may start, 0 or less for at once.

        A call larger than the burst waits for a full bucket only.
        """
        return round(self.paid_until - max(0.0, self.burst_s - 60.0 / self.per_minute) - now, 6)

    def take(self, units: float, now: float) -> "Bucket":
        """The bucket after something has started."""
        return self.correct(units, max(self.paid_until, now))

    def correct(self, units: float, since: float | None = None) -> "Bucket":
        """Charges (or, where negative, gives back) what an estimate got wrong."""
        start = self.paid_until if since is None else since
        return Bucket(self.per_minute, start + units * 60.0 / self.per_minute, self.burst_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a call needs, and the bounds it keeps, which hold for all processes together.

    Attributes:
        endpoint: a name for the endpoint, the same in all processes.
        tokens: expected of the call, input and output.
        in_flight: calls in flight over all endpoints.
        here: calls in flight at the endpoint; None for no other bound.
        requests_per_minute, tokens_per_minute: at the endpoint; None for no bound.
    """

    endpoint: str
    tokens: float = 0.0
    in_flight: int
    here: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    @property
    def rates(self) -> tuple[tuple[str, float, float], ...]:
        """Name, units a minute and units of this call, for each rate that is bounded."""
        both = (("requests", self.requests_per_minute, 1.0), ("tokens", self.tokens_per_minute, self.tokens))
        return tuple((name, rate, units) for name, rate, units in both if rate is not None)


@dataclass(slots=True)
class LimitBook:
    """Which calls of all processes are in flight, and until when each endpoint's rates are used up.

    A call has a ticket that expires unless its process renews it, so that what a process held when it died is free
    again after a while.

    Attributes:
        tickets: ticket -> its endpoint, and the second at which it expires.
        paid: endpoint -> rate -> the second until which it is used up.
    """

    tickets: dict[str, tuple[str, float]] = field(default_factory=dict)
    paid: dict[str, dict[str, float]] = field(default_factory=dict)

    def enter(self, ticket: str, ask: Ask, now: float, lease_s: float = LEASE_S) -> float | None:
        """Lets a call start if all its bounds allow it now; else nothing of it is booked.

        Args:
            ticket: names the call; asked again with the ticket of a call in flight, nothing changes.
            now: seconds on the keeper's clock.
            lease_s: how long the ticket is good without a renewal.

        Returns:
            0 where the call may start; else the seconds until its rates allow it, or None where another call has to
            end first.
        """
        self.tickets = _unexpired(self.tickets, now)
        if ticket in self.tickets:
            return 0.0
        here = sum(endpoint == ask.endpoint for endpoint, _ in self.tickets.values())
        if len(self.tickets) >= ask.in_flight or (ask.here is not None and here >= ask.here):
            return None
        paid = self.paid.setdefault(ask.endpoint, {})
        buckets = {name: Bucket(rate, paid.get(name, 0.0)) for name, rate, _ in ask.rates}
        wait = max((bucket.wait(now) for bucket in buckets.values()), default=0.0)
        if wait > 0:
            return wait
        paid.update({name: buckets[name].take(units, now).paid_until for name, _, units in ask.rates})
        self.tickets[ticket] = (ask.endpoint, now + lease_s)
        return 0.0

    def leave(self, ticket: str, ask: Ask, units: float) -> None:
        """Ends a call.

        Args:
            ask: as it entered.
            units: tokens it took beyond those expected (negative: fewer).
        """
        paid = self.paid.get(ask.endpoint, {})
        if self.tickets.pop(ticket, None) is not None and ask.tokens_per_minute is not None and "tokens" in paid:
            paid["tokens"] = Bucket(ask.tokens_per_minute, paid["tokens"]).correct(units).paid_until

    def renew(self, tickets: Iterable[str], now: float, lease_s: float = LEASE_S) -> None:
        """Keeps calls in flight from expiring; one that has expired is in flight again."""
        self.tickets |= {name: (self.tickets[name][0], now + lease_s) for name in tickets if name in self.tickets}

    def to_json(self) -> dict[str, Any]:
        """Plain data, see :meth:`from_json`."""
        return {"tickets": self.tickets, "paid": self.paid}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "LimitBook":
        """The book that :meth:`to_json` gave."""
        return cls({name: tuple(one) for name, one in data["tickets"].items()}, data["paid"])


@dataclass(frozen=True, slots=True)
class BudgetState:
    """How a budget stands.

    Attributes:
        spent: dollars since the day began, in UTC.
        held: dollars set aside for calls in flight.
        ends_in_s: seconds until the next day begins.
        granted: whether what was asked for is set aside now.
    """

    spent: float
    held: float
    ends_in_s: float
    granted: bool = False


@dataclass(slots=True)
class BudgetBook:
    """What all processes have spent since the day began (UTC), and what they have set aside for calls in flight.

    What is set aside has a ticket that expires unless its process renews it: a process that died gives back what its
    calls in flight might have cost. The true cost of a call counts whenever it is told, also after its ticket expired.

    Attributes:
        day: days since 1970-01-01.
        spent: dollars since then.
        held: ticket -> dollars, and the second at which it expires.
    """

    day: int = 0
    spent: float = 0.0
    held: dict[str, tuple[float, float]] = field(default_factory=dict)

    def reserve(self, ticket: str, usd: float, limit: float, now: float, lease_s: float = LEASE_S) -> BudgetState:
        """Sets dollars aside if they fit beside what is spent and what others have set aside.

        Args:
            ticket: names the call; asked again with the ticket of a call that is let through, nothing changes.
            limit: dollars a day.
            now: seconds since the epoch.
            lease_s: how long the ticket is good without a renewal.
        """
        state = self.state(now)
        granted = ticket in self.held
        if not granted and state.spent + state.held + usd <= limit + TOLERANCE:
            self.held[ticket] = (usd, now + lease_s)
            granted = True
        return BudgetState(state.spent, state.held, state.ends_in_s, granted)

    def settle(self, ticket: str, usd: float, now: float) -> None:
        """Replaces what was set aside for a call by what it cost."""
        self.state(now)
        self.held.pop(ticket, None)
        self.spent += usd

    def renew(self, tickets: Iterable[str], now: float, lease_s: float = LEASE_S) -> None:
        """Keeps what calls in flight have set aside from expiring."""
        self.held |= {name: (self.held[name][0], now + lease_s) for name in tickets if name in self.held}

    def state(self, now: float) -> BudgetState:
        """How it stands; a new day begins, and what has expired is given back."""
        day = int(now // DAY_S)
        if day != self.day:
            self.day, self.spent = day, 0.0
        self.held = _unexpired(self.held, now)
        held = sum(usd for usd, _ in self.held.values())
        return BudgetState(self.spent, held, (day + 1) * DAY_S - now)

    def to_json(self) -> dict[str, Any]:
        """Plain data, see :meth:`from_json`."""
        return {"day": self.day, "spent": self.spent, "held": self.held}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "BudgetBook":
        """The book that :meth:`to_json` gave."""
        return cls(data["day"], data["spent"], {name: tuple(one) for name, one in data["held"].items()})


def _unexpired(tickets: dict[str, tuple[T, float]], now: float) -> dict[str, tuple[T, float]]:
    return {name: one for name, one in tickets.items() if one[1] > now}
