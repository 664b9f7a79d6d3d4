"""The arithmetic of a budget a day that several processes share. Pure; time is given."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from metajudge.providers.limit_book import LEASE_S

DAY_S: Final = 86_400
TOLERANCE: Final = 1e-12
"""Float noise of sums of dollars."""


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
        self.held = {name: one for name, one in self.held.items() if one[1] > now}
        held = sum(usd for usd, _ in self.held.values())
        return BudgetState(self.spent, held, (day + 1) * DAY_S - now)

    def to_json(self) -> dict[str, Any]:
        """Plain data, see :meth:`from_json`."""
        return {"day": self.day, "spent": self.spent, "held": self.held}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "BudgetBook":
        """The book that :meth:`to_json` gave."""
        return cls(data["day"], data["spent"], {name: (one[0], one[1]) for name, one in data["held"].items()})
