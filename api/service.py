"""The running service: the engine and the parts shared by requests."""

import asyncio
from dataclasses import dataclass, field

from metajudge.providers.daily_budget import DailyBudget
from metajudge.store.answers import StoredAnswers
from metajudge.vetting.engine import Engine

from .admission import Admission
from .computing import Computing
from .hosts import HostRule
from .jobs import JobQueue
from .keys import KeyRing
from .limits import RateLimit, Visitors
from .metrics import Metrics
from .options import ServiceOptions
from .outcomes import OutcomeFlow
from .panels import Panels
from .promises import Promises
from .tasks import Tasks


@dataclass(frozen=True, slots=True)
class Service:
    """The parts shared by requests; opened and closed with the application.

    Attributes:
        budget: of a day; None for no limit.
        leaving: set at the stop signal.
    """

    options: ServiceOptions
    engine: Engine
    panels: Panels
    tasks: Tasks
    answers: StoredAnswers
    jobs: JobQueue
    keys: KeyRing
    rates: RateLimit
    visitors: Visitors
    admission: Admission
    computing: Computing
    metrics: Metrics
    promises: Promises
    outcomes: OutcomeFlow
    hosts: HostRule
    budget: DailyBudget | None = None
    leaving: asyncio.Event = field(default_factory=asyncio.Event)

    def leave(self) -> None:
        """Called at the stop signal: streams that only watch end, and an unreachable database is not waited for."""
        self.leaving.set()
        self.jobs.hurry()
