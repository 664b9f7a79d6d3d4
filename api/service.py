"""The running service: the engine and the parts shared by requests."""

from dataclasses import dataclass

from metajudge.vetting.engine import Engine

from .admission import Admission
from .computing import Computing
from .hosts import HostRule
from .idempotency import Answers
from .keys import KeyRing
from .limits import RateLimit
from .metrics import Metrics
from .options import ServiceOptions
from .panels import Panels
from .promises import Promises
from .queue import JobQueue


@dataclass(frozen=True, slots=True)
class Service:
    """The parts shared by requests; opened and closed with the application."""

    options: ServiceOptions
    engine: Engine
    panels: Panels
    answers: Answers
    jobs: JobQueue
    keys: KeyRing
    rates: RateLimit
    logins: RateLimit
    admission: Admission
    computing: Computing
    metrics: Metrics
    promises: Promises
    hosts: HostRule
