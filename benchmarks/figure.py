"""One figure of an analysis: value, n, interval, the definition they share, and how reports show it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metajudge.report.document import Absent, BarChart, BarSeries, Column, Measured, ShareChart, ShareRow, Table
from metajudge.stats.agreement import cohen_kappa, landis_koch
from metajudge.stats.intervals import BinomialTest, wilson
from metajudge.stats.paired import PairedTest
from metajudge.types.frozen import Finite

NO_ROWS = "There are no such rows in these data."

SEED = 20
"""Of the bootstrap."""

SHARE = "in percent, with its 95 % Wilson interval"


class Figure(Finite):
    """A figure.

    Attributes:
        value: a number, or an object where a figure has parts; None where the data carry none, see ``why``.
        interval: 95 %, in the unit of the value.
        definition: rows, statistic and unit.
        paper: a published figure, in the same unit; None if missing.
        why: where a published figure comes from when it differs, why there is no value, or what a reader must know.
    """

    value: Any
    n: int
    definition: str
    interval: tuple[float, float] | None = None
    paper: Any = None
    why: str | None = None

    def entry(self) -> dict[str, Any]:
        """For JSON: ``value`` is always present, null with a reason; optional fields are present if set."""
        optional = {"interval": self.interval, "paper": self.paper, "why": self.why}
        there = {name: value for name, value in optional.items() if value is not None}
        return {"value": self.value, "n": self.n, "definition": self.definition, **there}


Figures = dict[str, Figure]


def to_json(figures: Mapping[str, Figure]) -> str:
    """``{id: {value, n, interval?, definition, paper?, why?}}``."""
    entries = {name: figure.entry() for name, figure in figures.items()}
    return json.dumps(entries, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def absent(definition: str, why: str = NO_ROWS) -> Figure:
    """A figure that these data do not carry."""
    return Figure(value=None, n=0, definition=definition, why=why)


def made(
    value: Any, n: int, definition: str, interval: tuple[float, float] | None = None, why: str | None = None
) -> Figure:
    """A figure by its parts."""
    return Figure(value=value, n=n, definition=definition, interval=interval, why=why)


def tested(test: PairedTest | BinomialTest | None, definition: str) -> Figure:
    """The p value of a test; absent where there was nothing to test."""
    return absent(definition) if test is None else made(test.p_value, test.n, definition)


def fisher(first: tuple[int, int], second: tuple[int, int], definition: str) -> Figure:
    """The two-sided p of Fisher's exact test of two shares, each hits and n."""
    from scipy.stats import fisher_exact

    (hits, n), (others, size) = first, second
    if not n or not size:
        return absent(definition, "One of the two classes is empty.")
    if hits + others in (0, n + size):
        return absent(definition, "All outcomes are the same.")
    test = fisher_exact([[hits, n - hits], [others, size - others]])
    return made(float(test.pvalue), n + size, definition)


def resampled_share(matches: Sequence[bool], clusters: Sequence[str], definition: str, few: str) -> tuple[Figure, int]:
    """A share in percent with its interval by whole clusters, and the number of these; absent with fewer than two."""
    if (size := len(set(clusters))) < 2:
        return absent(definition, few), size
    import numpy as np

    from metajudge.stats.bootstrap import bootstrap_mean

    found = bootstrap_mean([float(match) for match in matches], clusters, rng=np.random.default_rng(SEED))
    return made(100 * found.estimate, found.n, definition, (100 * found.low, 100 * found.high)), size


def short(value: Any, nothing: str = "none") -> str:
    """A value for a table cell: few digits, one part of an object after the other."""
    if isinstance(value, dict):
        parts = {key: part for key, part in value.items() if key != "by_pair"}
        return "; ".join(f"{key.replace('_', ' ')} {short(part, nothing)}" for key, part in parts.items())
    if isinstance(value, list | tuple):
        of_objects = bool(value) and isinstance(value[0], dict)
        return (" | " if of_objects else ", ").join(short(part, nothing) for part in value)
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 20 else f"{value:.1f}"
    return nothing if value is None else str(value)


def share(hits: int, n: int, definition: str, remark: str = "") -> Figure:
    """A share in percent with its Wilson interval; absent where there is nothing to count."""
    text = f"{definition}; {SHARE}"
    if not n:
        return absent(text)
    found = wilson(hits, n)
    interval = (100 * found.low, 100 * found.high)
    return Figure(value=100 * found.estimate, n=n, definition=text, interval=interval, why=remark or None)


def count(hits: int, n: int, definition: str, remark: str = "") -> Figure:
    """A number of rows out of n; absent where there are none to count among."""
    if not n:
        return absent(f"{definition}; a count")
    return Figure(value=hits, n=n, definition=f"{definition}; a count", why=remark or None)


def kappa(labels: Iterable[tuple[Any, Any]], definition: str) -> Figure:
    """Cohen's kappa with its asymptotic interval and its customary word."""
    pairs = list(labels)
    text = f"{definition}; Cohen's kappa, chance from each rater's observed margins, asymptotic 95 % interval"
    if not pairs:
        return absent(text)
    found = cohen_kappa([one for one, _ in pairs], [other for _, other in pairs])
    if found.estimate is None:
        return Figure(value=None, n=found.n, definition=text, why=f"{found.reason}.")
    text += f'. Landis and Koch call it "{landis_koch(found.estimate)}"'
    return Figure(value=found.estimate, n=found.n, definition=text, interval=found.ends)


def definitions_table(title: str, figures: Figures) -> Table:
    """Rows, statistic and unit of each figure of a section."""
    rows = tuple((name, figure.definition) for name, figure in figures.items())
    columns = (Column(title="Figure"), Column(title="Definition"))
    return Table(caption=f"{title}: definitions", columns=columns, rows=rows)


def bars(title: str, description: str, figures: Figures, names: Mapping[str, str]) -> BarChart:
    """A bar for each name, of the share in percent of its id; absent where there is no such figure or no interval."""
    series = BarSeries(name="percent", values=tuple(_bar(figures.get(name)) for name in names.values()))
    return BarChart(title=title, description=description, groups=tuple(names), series=(series,))


def classes_chart(title: str, description: str, row: str, classes: Mapping[str, int]) -> ShareChart:
    """One row that is divided into classes by their counts."""
    parts = tuple(name.replace("_", " ") for name in classes)
    rows = (ShareRow(name=row, counts=tuple(classes.values())),)
    return ShareChart(title=title, description=description, parts=parts, rows=rows)


def _bar(figure: Figure | None) -> Measured | Absent:
    if figure is None or figure.value is None or figure.interval is None:
        return Absent(absent="no such rows")
    low, high = figure.interval
    return Measured(value=figure.value / 100, low=low / 100, high=high / 100)
