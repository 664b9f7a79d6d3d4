"""Prometheus metrics in the text format (version 0.0.4)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from metajudge.evidence.counting import status_of
from metajudge.monitor.report import PromiseReport
from metajudge.providers.metering import Meter
from metajudge.types import Assessment

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
"""Upper bounds of the latency histogram, in seconds."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_TOKENS = ("input", "output", "cached", "cache_write")


class Metrics:
    """Metrics of this process since its start."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(name, meaning, labels, registry=self._registry)

        self._requests = counter("metajudge_requests", "Answers by route and status.", "method", "route", "status")
        self._seconds = Histogram(
            "metajudge_request_seconds",
            "Time to the end of the answer.",
            ["route"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._assessments = counter("metajudge_assessments", "Results by status.", "status")
        self._decisions = counter("metajudge_decisions", "Decisions by action.", "action")

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a response; ``route`` is the path's pattern, as paths are chosen by callers."""
        self._requests.labels(method if method in METHODS else "(other)", route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def assessed(self, assessment: Assessment) -> None:
        """Counts a result."""
        self._assessments.labels(status_of(assessment)).inc()
        if assessment.decision is not None:
            self._decisions.labels(assessment.decision.action.value).inc()

    def text(
        self, meter: Meter, gauges: Mapping[str, tuple[str, float]], promises: Sequence[PromiseReport] = ()
    ) -> bytes:
        """All metrics as text.

        Args:
            meter: the engine's.
            gauges: name -> (help text, current value).
            promises: as of the newest check.
        """
        shown = (GaugeMetricFamily(name, meaning, value) for name, (meaning, value) in gauges.items())
        found = (*self._own(), *_of_meter(meter), *shown, *_of_promises(promises))
        return generate_latest(_Families(found))

    def _own(self) -> Iterator[Metric]:
        """The families counted here, without their creation times."""
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family


class _Families(Collector):
    """Families collected before."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def _of_meter(meter: Meter) -> Iterator[Metric]:
    tokens = {kind: getattr(meter.usage, f"{kind}_tokens") for kind in _TOKENS}
    failures = {kind.value: count for kind, count in sorted(meter.failures.items())}
    for name, meaning, value in (
        ("model_calls", "HTTP requests sent to models.", meter.sent),
        ("model_replies", "Complete replies.", meter.replies),
        ("model_failures", "Failed requests to models by kind.", failures),
        ("tokens", "Tokens that models reported.", tokens),
        ("cost_usd", "Known cost in US dollars.", meter.cost_usd),
        ("unpriced", "Answers of unknown cost.", meter.unpriced),
    ):
        by_kind = isinstance(value, dict)
        family = CounterMetricFamily(f"metajudge_{name}", meaning, labels=["kind"] if by_kind else None)
        for kind, count in value.items() if isinstance(value, dict) else [("", value)]:
            family.add_metric([kind] if by_kind else [], count)
        yield family


def _of_promises(promises: Sequence[PromiseReport]) -> Iterator[Metric]:
    """Gauges by promise, with its target as a label."""
    for name, meaning, value_of in _PROMISES if promises else ():
        family = GaugeMetricFamily(f"metajudge_promise_{name}", meaning, labels=["promise", "target"])
        for one in promises:
            family.add_metric([one.promise_id, f"{one.target:g}"], value_of(one))
        yield family


_PROMISES: tuple[tuple[str, str, Callable[[PromiseReport], float]], ...] = (
    ("broken", "1 if monitoring found the promise broken, else 0.", lambda one: float(one.is_broken)),
    ("e_value", "Largest e-value; the alarm is at 1 / delta.", lambda one: one.held.largest),
    ("audits", "Audited questions.", lambda one: one.held.audits),
    ("waiting", "Drawn questions that wait for people.", lambda one: one.counts.waiting),
)
