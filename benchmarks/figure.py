"""Figures of an analysis as rows of one table: id, definition, and function of the records; and how they are shown."""

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from metajudge.errors import InputError
from metajudge.reading.containers.lines import Reject, Source, read_lines
from metajudge.reading.reasons import reason_of
from metajudge.report.document import (
    Absent,
    BarChart,
    BarSeries,
    Cell,
    Column,
    Measured,
    Section,
    ShareChart,
    ShareRow,
    Table,
)
from metajudge.stats.agreement import Agreement, cohen_kappa, landis_koch
from metajudge.stats.intervals import wilson
from metajudge.stats.paired import PairedTest, mcnemar_exact
from metajudge.stats.stability import StabilityClass
from metajudge.types import figure

NO_ROWS = "There are no such rows in these data."

SEED = 20
"""Of the bootstrap."""

Record = TypeVar("Record", bound=BaseModel)
Ends: TypeAlias = tuple[float, float] | None


class Explanation(NamedTuple):
    """Another computation that may have given a published figure: what it does, and what it gives on these data."""

    how: str
    value: Any


class Figure(figure.Figure):
    """A figure.

    Attributes:
        value: a number, or an object where a figure has parts; None where the data carry none, see ``why``.
        low, high: the 95 % interval, in the unit of the value.
        definition: rows, statistic and unit.
        paper: a published figure, in the same unit; None if missing.
        why: where a published figure comes from when it differs, why there is no value, or what a reader must know.
        explanation: what may have given the published figure.
    """

    value: Any = None
    n: int
    definition: str
    paper: Any = None
    why: str | None = None
    explanation: Explanation | None = None

    @property
    def ends(self) -> Ends:
        """Both ends of the interval; None where there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def entry(self) -> dict[str, Any]:
        """For JSON: ``value`` is always present, null with a reason; optional fields are present if set."""
        optional = {"interval": self.ends, "paper": self.paper, "why": self.why}
        there = {name: value for name, value in optional.items() if value is not None}
        return {"value": self.value, "n": self.n, "definition": self.definition, **there}


Figures = dict[str, Figure]

Build: TypeAlias = Callable[[str], Figure]
"""Makes a figure, given its definition."""


class FigureTable:
    """Figures by id, made row by row; their texts are the file ``figures.toml`` of a package.

    A text belongs to a pattern of ids, such as ``t1.{model}``; the words given with a row are filled into both.
    """

    def __init__(self, package: str) -> None:
        self._texts: dict[str, dict[str, str]] = tomllib.loads(
            files(package).joinpath("figures.toml").read_text("utf-8")
        )
        self.found: Figures = {}

    def add(self, key: str, build: Build, remark: str = "", /, *, theirs: Any = ..., **words: Any) -> Figure:
        """Adds a row.

        Args:
            key: the pattern of its id.
            remark: what a reader must know of its value; else the one in the file of texts.
            theirs: what the computation named in the file gives on these data, where it may have given the published
                figure.
            words: fill the pattern, and the texts.
        """

        def text(part: str) -> str:
            return self._texts.get(part, {}).get(key, "").format(**words)

        made = build(text("definitions"))
        changes: dict[str, Any] = {} if made.value is None else {"why": remark or text("remarks") or None}
        if theirs is not ...:
            changes["explanation"] = Explanation(text("explained"), theirs)
        found = self.found[key.format(**words)] = made.model_copy(update=changes)
        return found


def to_json(figures: Mapping[str, Figure]) -> str:
    """``{id: {value, n, interval?, definition, paper?, why?}}``."""
    entries = {name: figure.entry() for name, figure in figures.items()}
    return json.dumps(entries, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def absent(why: str = NO_ROWS, n: int = 0) -> Build:
    """A figure that these data do not carry."""
    return lambda definition: Figure(n=n, definition=definition, why=why)


def made(value: Any, n: int, ends: Ends = None, suffix: str = "") -> Build:
    """A figure by its parts; ``suffix`` ends its definition."""
    low, high = ends or (None, None)
    return lambda definition: Figure(value=value, n=n, definition=f"{definition}{suffix}", low=low, high=high)


def of_rows(value: Any, n: int, ends: Ends = None) -> Build:
    """:func:`made` of n rows; absent where there are none, but an empty list is a result too."""
    return made(value, n, ends) if n or isinstance(value, list) else absent()


def tested(test: PairedTest | None) -> Build:
    """The p value of a test; absent where there was nothing to test."""
    return absent() if test is None else made(test.p_value, test.n)


def fisher(first: tuple[int, int], second: tuple[int, int]) -> Build:
    """The two-sided p of Fisher's exact test of two shares, each hits and n."""
    from scipy.stats import fisher_exact

    (hits, n), (others, size) = first, second
    if not n or not size:
        return absent("One of the two classes is empty.")
    if hits + others in (0, n + size):
        return absent("All outcomes are the same.")
    test = fisher_exact([[hits, n - hits], [others, size - others]])
    return made(float(test.pvalue), n + size)


def resampled_share(matches: Sequence[bool], clusters: Sequence[str], few: str = NO_ROWS) -> Build:
    """A share in percent with its interval by whole clusters; absent with fewer than two."""
    if len(set(clusters)) < 2:
        return absent(few)
    import numpy as np

    from metajudge.stats.bootstrap import bootstrap_mean

    found = bootstrap_mean([float(match) for match in matches], clusters, rng=np.random.default_rng(SEED))
    return made(100 * found.estimate, found.n, (100 * found.low, 100 * found.high))


def share(hits: int, n: int) -> Build:
    """A share in percent with its Wilson interval; absent where there is nothing to count."""
    found = wilson(hits, n) if n else None
    build = absent() if found is None else made(100 * found.estimate, n, (100 * found.low, 100 * found.high))
    return lambda definition: build(f"{definition}; in percent, with its 95 % Wilson interval")


def share_of(outcomes: Iterable[bool]) -> Build:
    """:func:`share` of the true ones."""
    every = list(outcomes)
    return share(sum(every), len(every))


def count(hits: int, n: int) -> Build:
    """A number of rows out of n; absent where there are none to count among."""
    build = made(hits, n) if n else absent()
    return lambda definition: build(f"{definition}; a count")


def ends_of(found: Figure, n: int) -> Build:
    """The ends of a figure's interval, as a figure."""
    return absent(found.why or NO_ROWS) if found.ends is None else made(list(found.ends), n, found.ends)


def kappa_of(pairs: Sequence[tuple[Any, Any]]) -> Agreement:
    """Cohen's kappa of pairs of labels."""
    return cohen_kappa([one for one, _ in pairs], [other for _, other in pairs])


def kappa(pairs: Sequence[tuple[Any, Any]]) -> Build:
    """Cohen's kappa with its asymptotic interval and its customary word."""
    method = "; Cohen's kappa, chance from each rater's observed margins, asymptotic 95 % interval"
    return agreement(kappa_of(pairs) if pairs else None, method)


def agreement(found: Agreement | None, method: str, why: str = NO_ROWS) -> Build:
    """A chance-corrected agreement with its customary word; ``method`` ends its definition."""
    if found is None or found.estimate is None:
        build = absent(why) if found is None else absent(f"{found.reason}.", found.n)
        return lambda definition: build(f"{definition}{method}")
    word = f'. Landis and Koch call it "{landis_koch(found.estimate)}"'
    return made(found.estimate, found.n, found.ends, f"{method}{word}")


def mcnemar(pairs: Sequence[tuple[bool, bool]]) -> PairedTest | None:
    """The exact test of McNemar that the two outcomes of a pair are true equally often; None without pairs."""
    return mcnemar_exact([one for one, _ in pairs], [other for _, other in pairs]) if pairs else None


def crossed(pairs: Sequence[tuple[bool, bool]], names: Iterable[str]) -> dict[str, int]:
    """How many pairs are true in both, in the first alone, in the second alone, and in neither."""
    counts = Counter(pairs)
    every = ((one, other) for one in (True, False) for other in (True, False))
    return dict(zip(names, map(counts.__getitem__, every), strict=True))


def add_decomposition(table: FigureTable, classes: Mapping[StabilityClass, int], why: str) -> None:
    """What is not stably right: systematic and stochastic, in percent; ``why`` there may be nothing of it."""
    wrong, unstable = classes[StabilityClass.STABLE_WRONG], classes[StabilityClass.UNSTABLE]
    n = wrong + unstable
    build = made({"systematic": 100 * wrong / n, "stochastic": 100 * unstable / n}, n) if n else absent(why)
    table.add("stability.decomposition", build)


def add_third_run(
    table: FigureTable, run: str, wrong: Sequence[bool], unstable: Sequence[bool], low: Sequence[bool], remark: str = ""
) -> None:
    """What a targeted run says of its three groups: whether each evaluation is right in it.

    Args:
        run: begins the ids.
        remark: on those that were wrong before.
    """
    from scipy.stats import binomtest

    still, n = wrong.count(False), len(wrong)
    p = float(binomtest(still, n, 0.5, "greater").pvalue) if n else 0.0
    table.add(f"{run}.still_wrong", share(still, n), remark)
    table.add(f"{run}.still_wrong_p", made(p, n) if n else absent(), still=still, n=n, p=p)
    table.add(f"{run}.unstable", share_of(unstable))
    table.add(f"{run}.lowconf", share_of(not right for right in low))


def checked_lines(path: Path, kind: type[Record], advice: str) -> Iterator[tuple[int, Record]]:
    """The records of a JSONL file with their line numbers.

    Raises:
        InputError: a line is broken or no such record; ``advice`` says what to do about the latter.
    """
    for line in read_lines(Source(path, str(path))):
        if isinstance(line, Reject):
            raise InputError(f"{line}; repair or remove the line")
        try:
            yield line.number, kind.model_validate(line.data)
        except ValidationError as error:
            raise InputError(f"{path}:{line.number}: {reason_of(error)}; {advice}") from None


UNITS = "Shares are in percent, differences in percentage points, costs in US dollars; intervals are at 95 %."
UNITY = {"unanimous": "unanimity.unanimous", "split": "unanimity.split"}


def columns(*titles: str | tuple[str, str]) -> tuple[Column, ...]:
    """Columns by their titles: a title alone is of text, one of figures comes with their :data:`Kind`."""
    named = ((one, "text") if isinstance(one, str) else one for one in titles)
    return tuple(Column.model_validate({"title": title, "kind": kind}) for title, kind in named)


def without(table: Table, gone: Collection[int]) -> Table:
    """A table without the columns at some places."""
    kept = [place for place in range(len(table.columns)) if place not in gone]
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return table.model_copy(update={"columns": tuple(table.columns[place] for place in kept), "rows": rows})


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


def with_ends(found: Figure, nothing: str = "none") -> str:
    """A figure's value for a table cell, with its interval in brackets."""
    if found.ends is None or isinstance(found.value, list):
        return short(found.value, nothing)
    low, high = found.ends
    return f"{short(found.value, nothing)} ({short(low, nothing)} to {short(high, nothing)})"


def figure_table(caption: str, figures: Figures) -> Table:
    """Value, n and remark of each figure."""
    titles = columns("Figure", "Value", ("n", "count"), "Remark")
    rows = tuple((name, value_cell(one), one.n, one.why or "") for name, one in figures.items())
    return Table(caption=caption, columns=titles, rows=rows)


def value_cell(figure: Figure, nothing: str = "none") -> Cell:
    """A figure's value with its interval, or why there is none."""
    return Absent(absent=figure.why or "no data") if figure.value is None else with_ends(figure, nothing)


def sections_of(
    sections: Mapping[str, tuple[str, ...]], figures: Figures, table: Callable[[str, Figures], Table] = figure_table
) -> Iterator[Section]:
    """The sections that have a figure.

    Args:
        sections: title -> how the ids of its figures begin.
        table: makes a section's table, beside which the definitions stand: rows, statistic and unit.
    """
    for title, prefixes in sections.items():
        mine = {name: one for name, one in figures.items() if name.startswith(prefixes)}
        rows = tuple((name, figure.definition) for name, figure in mine.items())
        definitions = Table(caption=f"{title}: definitions", columns=columns("Figure", "Definition"), rows=rows)
        if mine:
            yield Section(title=title, blocks=(table(title, mine), definitions))


def bars(title: str, description: str, figures: Figures, names: Mapping[str, str]) -> BarChart:
    """A bar for each name, of the share in percent of its id; absent where there is no such figure or no interval."""
    values: list[Measured | Absent] = []
    for found in map(figures.get, names.values()):
        if found is None or found.value is None or found.ends is None:
            values.append(Absent(absent="no such rows"))
        else:
            low, high = found.ends
            values.append(Measured(value=found.value / 100, low=low / 100, high=high / 100))
    series = BarSeries(name="percent", values=tuple(values))
    return BarChart(title=title, description=description, groups=tuple(names), series=(series,))


def classes_chart(title: str, description: str, row: str, classes: Mapping[str, int]) -> ShareChart:
    """One row that is divided into classes by their counts."""
    parts = tuple(name.replace("_", " ") for name in classes)
    rows = (ShareRow(name=row, counts=tuple(classes.values())),)
    return ShareChart(title=title, description=description, parts=parts, rows=rows)
