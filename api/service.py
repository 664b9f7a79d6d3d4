"""The running service: the one engine and what stands around it."""

from dataclasses import dataclass

from metajudge.engine import Engine

from .admission import Admission
from .jobs import Jobs
from .keys import KeyRing, RateLimit
from .ledger import Ledger
from .metrics import Metrics
from .options import ServiceOptions
from .panels import Panels


@dataclass(frozen=True, slots=True)
class Service:
    """What a request finds; opens and closes with the application."""

    options: ServiceOptions
    engine: Engine
    panels: Panels
    ledger: Ledger
    jobs: Jobs
    keys: KeyRing
    rates: RateLimit
    admission: Admission
    metrics: Metrics
