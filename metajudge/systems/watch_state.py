"""What a watch is told to do, and where it stands."""

from dataclasses import asdict, dataclass
from typing import Any

from metajudge.systems.system import NAME


@dataclass(frozen=True, slots=True)
class WatchRules:
    """What a watch does and how much of it.

    Attributes:
        name: under which its position is kept.
        since: from when on the first round fetches; see :func:`~metajudge.systems.pull.since_of`.
        again_h: hours before the position that each round fetches again.
        every_s: seconds from the end of a round to the next.
        items_per_minute: judgments vetted a minute at most; those whose assessment is in the store do not count.
        budget_usd: dollars a day (UTC) at most; None for no limit. What is in flight when it is reached is finished.
        workers: judgments in flight.
        puts: whether assessments are put beside the verdicts.
        note: the name of such a note.
        link: the address of an assessment, with ``{judgment_id}`` in it.
    """

    name: str
    since: str = "24h"
    again_h: float = 24.0
    every_s: float = 60.0
    items_per_minute: float = 60.0
    budget_usd: float | None = None
    workers: int = 4
    puts: bool = False
    note: str = NAME
    link: str | None = None


@dataclass(slots=True)
class WatchState:
    """Where a watch stands; what :attr:`kept` gives of it survives the process.

    Attributes:
        source: what is watched, with its project; None before it was asked.
        position: everything before this time was dealt with; ISO 8601, None at first.
        vetted: verdicts that were vetted; those whose assessment was in the store already do not count.
        failed: verdicts that were given up, after their vetting had no result in several rounds.
        rejected: records of the last round that could not be read.
        put: notes that were created or changed in the system.
        not_put: notes that were not taken; each try counts.
        day, spent_usd: the day (UTC), and what its vetting cost.
        rounds: of this process.
        round_at: the end of the last one, in seconds since the epoch.
        waits_for: why nothing is vetted at the moment: ``budget``, ``replica`` (another one watches); None otherwise.
        error: what went wrong in the last round; None where nothing did.
        stopped: whether it has ended.
    """

    name: str
    source: str | None = None
    position: str | None = None
    vetted: int = 0
    failed: int = 0
    rejected: int = 0
    put: int = 0
    not_put: int = 0
    day: str = ""
    spent_usd: float = 0.0
    rounds: int = 0
    round_at: float | None = None
    waits_for: str | None = None
    error: str | None = None
    stopped: bool = False

    @property
    def kept(self) -> dict[str, Any]:
        """What is stored."""
        names = ("source", "position", "vetted", "failed", "put", "not_put", "day", "spent_usd")
        return {name: value for name, value in asdict(self).items() if name in names}
