"""One figure of an analysis: value, n, interval, the definition they share, and how reports show it."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from metajudge.report.document import Absent, Column, Measured, Table
from metajudge.stats.agreement import cohen_kappa, landis_koch
from metajudge.stats.intervals import wilson
from metajudge.types.frozen import Finite

NO_ROWS = "There are no such rows in these data."

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
    interval = None if found.low is None or found.high is None else (found.low, found.high)
    return Figure(value=found.estimate, n=found.n, definition=text, interval=interval)


def definitions_table(title: str, figures: Figures) -> Table:
    """Rows, statistic and unit of each figure of a section."""
    rows = tuple((name, figure.definition) for name, figure in figures.items())
    columns = (Column(title="Figure"), Column(title="Definition"))
    return Table(caption=f"{title}: definitions", columns=columns, rows=rows)


def measured(figure: Figure | None) -> Measured | Absent:
    """A share in percent, for a bar; absent where there is no such figure, no value or no interval."""
    if figure is None or figure.value is None or figure.interval is None:
        return Absent(absent="no such rows")
    low, high = figure.interval
    return Measured(value=figure.value / 100, low=low / 100, high=high / 100)
