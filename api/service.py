"""The running service: the one engine and what stands around it."""

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
from .queue import JobQueue


@dataclass(frozen=True, slots=True)
class Service:
    """What a request finds; opens and closes with the application."""

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
    hosts: HostRule
