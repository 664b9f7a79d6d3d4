"""Counts for Prometheus, in its text format (version 0.0.4)."""

from collections import Counter
from collections.abc import Iterable, Mapping

from metajudge.providers.metering import Meter
from metajudge.types import Assessment

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
"""Upper bounds of the latency histogram, in seconds."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counts of this process since it started."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self._slow: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self.assessments: Counter[str] = Counter()
        self.decisions: Counter[str] = Counter()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts an answer; ``route`` is the path's pattern, never the path, which anybody can make up."""
        method = method if method in METHODS else "(other)"
        self.requests[method, route, status] += 1
        counts = self._slow.setdefault(route, [0] * (len(BUCKETS) + 1))
        counts[next((n for n, bound in enumerate(BUCKETS) if seconds <= bound), len(BUCKETS))] += 1
        self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def assessed(self, assessment: Assessment) -> None:
        """Counts a result."""
        self.assessments[assessment.status.value] += 1
        if assessment.decision is not None:
            self.decisions[assessment.decision.action.value] += 1

    def text(self, meter: Meter, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All of it.

        Args:
            meter: the engine's.
            gauges: name -> what it is, and its value now.
        """
        lines = [
            *_family("metajudge_requests_total", "counter", "Answers by route and status.", self._requests()),
            *self._histogram(),
            *_family("metajudge_model_calls_total", "counter", "HTTP requests sent to models.", [((), meter.sent)]),
            *_family("metajudge_model_replies_total", "counter", "Complete replies.", [((), meter.replies)]),
            *_family(
                "metajudge_model_failures_total",
                "counter",
                "Failed requests to models by kind.",
                [((("kind", kind.value),), count) for kind, count in sorted(meter.failures.items())],
            ),
            *_family("metajudge_tokens_total", "counter", "Tokens that models reported.", _tokens(meter)),
            *_family("metajudge_cost_usd_total", "counter", "Known cost in US dollars.", [((), meter.cost_usd)]),
            *_family("metajudge_unpriced_total", "counter", "Answers of unknown cost.", [((), meter.unpriced)]),
            *_family("metajudge_assessments_total", "counter", "Results by status.", _by("status", self.assessments)),
            *_family("metajudge_decisions_total", "counter", "Decisions by action.", _by("action", self.decisions)),
        ]
        for name, (meaning, value) in gauges.items():
            lines += _family(name, "gauge", meaning, [((), value)])
        return "\n".join(lines) + "\n"

    def _requests(self) -> list[tuple[Labels, float]]:
        return [
            ((("method", method), ("route", route), ("status", str(status))), count)
            for (method, route, status), count in sorted(self.requests.items())
        ]

    def _histogram(self) -> list[str]:
        name = "metajudge_request_seconds"
        lines = [f"# HELP {name} Time to the end of the answer.", f"# TYPE {name} histogram"]
        for route, counts in sorted(self._slow.items()):
            total = 0
            for bound, count in zip((*BUCKETS, float("inf")), counts, strict=True):
                total += count
                le = "+Inf" if bound == float("inf") else f"{bound:g}"
                lines.append(_sample(f"{name}_bucket", (("route", route), ("le", le)), total))
            lines.append(_sample(f"{name}_sum", (("route", route),), round(self._seconds[route], 6)))
            lines.append(_sample(f"{name}_count", (("route", route),), total))
        return lines


def _tokens(meter: Meter) -> list[tuple[Labels, float]]:
    usage = meter.usage
    kinds = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens")
    return [((("kind", kind.removesuffix("_tokens")),), getattr(usage, kind)) for kind in kinds]


def _by(label: str, counts: Mapping[str, int]) -> list[tuple[Labels, float]]:
    return [(((label, name),), count) for name, count in sorted(counts.items())]


def _family(name: str, kind: str, meaning: str, samples: Iterable[tuple[Labels, float]]) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", *(_sample(name, *sample) for sample in samples)]


def _sample(name: str, labels: Labels, value: float) -> str:
    quoted = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
    return f"{name}{{{quoted}}} {value}" if labels else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
