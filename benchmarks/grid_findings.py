"""A grid's tables in the layout of its source: every row with its figures, the printed ones, and what to know of it."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metajudge.providers.notices import not_sent
from metajudge.report.document import Absent
from metajudge.runs.loop import RunEnd

from .findings import (
    OVERALL,
    GridFindings,
    GridRow,
    GridTableFindings,
    JudgeFindings,
    PrecisionRow,
    Proportion,
    RowCost,
    Share,
)
from .grid import Configuration, Grid, GridJudge, GridTable, Published
from .grid_costs import Ledger
from .grid_plan import Plan, not_sent_settings
from .grid_run import RowResult
from .observations import Observations


def size_weighted(precisions: Mapping[str, Proportion | Absent], sizes: Mapping[str, int]) -> Share | Absent:
    """``sum_c w_c p_c`` with ``w_c = size_c / sum of sizes``, and its 95 % interval.

    The categories share no question, so their precisions are independent. The interval recovers variances from theirs
    (MOVER: Zou, Huang, Zhang, "A note on confidence interval estimation for a linear function of binomial
    proportions", Computational Statistics and Data Analysis 53, 2009): lower end
    ``estimate - sqrt(sum_c w_c^2 (p_c - low_c)^2)``, upper end likewise.

    Args:
        precisions: category -> precision of what is kept there.
        sizes: category -> pairs, of every category that counts.

    Returns:
        Absent where nothing is kept in a category: the mean has no value without it.
    """
    total = sum(sizes.values())
    if not total:
        return Absent(absent="the grid names no category sizes")
    found: dict[str, Proportion] = {}
    for name in sizes:
        one = precisions.get(name)
        if not isinstance(one, Proportion):
            return Absent(absent=f"nothing selected in {name}: the weighted mean has no value")
        found[name] = one
    share = sum(sizes[name] * one.share for name, one in found.items()) / total
    below = math.sqrt(sum((sizes[name] * (one.share - one.interval[0]) / total) ** 2 for name, one in found.items()))
    above = math.sqrt(sum((sizes[name] * (one.interval[1] - one.share) / total) ** 2 for name, one in found.items()))
    return Share(
        share=share,
        low=max(0.0, share - below),
        high=min(1.0, share + above),
        n=sum(one.n for one in found.values()),
        questions=sum(one.questions for one in found.values()),
    )


NO_RUN = Absent(absent="the row was not run")
NO_MODEL = Absent(absent="no model is asked")
RAW = "Raw judgments"
ALL = "all rows"


@dataclass(frozen=True, slots=True)
class _Judged:
    """A judge of the grid in the data: name there, rows by name, missing verdicts, pairs by category."""

    name: str
    rows: Mapping[str, PrecisionRow]
    without_verdict: int
    pairs: Mapping[str, int]


class GridTables:
    """What becomes of a grid.

    Args:
        judges: the findings of each judge's judgments, rows by the names of the plan.
    """

    def __init__(
        self,
        grid: Grid,
        plan: Plan,
        judges: Sequence[JudgeFindings],
        results: Sequence[RowResult],
        observations: Observations,
    ) -> None:
        self.grid, self.plan = grid, plan
        ledger = Ledger()
        self.costs: dict[tuple[str, str], RowCost] = {}
        self.results: dict[tuple[str, str], RowResult] = {}
        for result in results:
            place = (result.row.judge, result.row.name)
            self.results[place] = result
            self.costs[place] = ledger.row(result.row.panel, result.assessments.values(), result.stored_usd)
        self.judged = {
            one.judge: _Judged(
                one.judge,
                {row.name: row for row in one.rows},
                one.without_verdict,
                _pairs(observations.only({one.judge})),
            )
            for one in judges
        }
        self.sizes = grid.category_sizes

    def findings(self) -> GridFindings:
        """All tables."""
        tables = self.grid.tables or (GridTable(name=ALL, caption=self.grid.title),)
        found = tuple(self._table(table) for table in tables)
        return GridFindings(
            title=self.grid.title,
            source=self.grid.source,
            population=str(self.grid.population),
            category_sizes=dict(self.sizes),
            tables=tuple(table for table in found if table.rows),
            notes=self.grid.notes,
        )

    def _table(self, table: GridTable) -> GridTableFindings:
        rows: list[GridRow] = []
        for judge in self.grid.judges:
            mine = [row for row in self.grid.configurations if row.judge == judge.name and _in(table, row.tables)]
            for name in self._names(judge) if mine else ():
                if _in(table, judge.tables):
                    rows.append(self._raw(judge, name))
                rows += [self._row(row, name) for row in mine]
                rows += [made for row in mine if row.calibrated for made in self._calibrated(row, name)]
        return GridTableFindings(
            name=table.name, caption=table.caption, chart=table.chart, notes=table.notes, rows=tuple(rows)
        )

    def _names(self, judge: GridJudge) -> list[str | None]:
        """Whose judgments the rows of a grid's judge vet: its own, or those of judges asked for in its place."""
        own = self.plan.vetted.get(judge.name)
        planned = {
            row.judge: None
            for row in self.plan.rows
            if row.configuration is not None and row.configuration.judge == judge.name
        }
        return [own] if own is not None else list(planned) or [None]

    def _raw(self, judge: GridJudge, name: str | None) -> GridRow:
        judged = self.judged.get(name or "")
        row = None if judged is None else next(iter(judged.rows.values()))
        caveats = self._caveats_of_judge(judge.name, judged, kept=False)
        return self._made(judge.name, name, row, judge.published, None, configuration=RAW, caveats=caveats)

    def _row(self, row: Configuration, name: str | None) -> GridRow:
        judged = self.judged.get(name or "")
        planned = next((one for one in self.plan.rows if one.configuration == row and one.judge == name), None)
        place = (name or "", planned.name if planned is not None else row.name)
        found = None if judged is None or place not in self.results else judged.rows.get(place[1])
        caveats = [*row.caveats, *self._caveats_of_judge(row.judge, judged if found is not None else None, kept=True)]
        caveats += self._temperature(row, self.results.get(place))
        undecided = 0 if found is None or judged is None else found.unscored - self._silent(judged)
        if undecided > 0:
            caveats.append(f"{undecided} judgments got no decision from the agents: they are not kept")
        caveats += _without_rationale(self.results.get(place))
        caveats += _incomplete(self.results.get(place))
        made = self._made(row.judge, name, found, row.published, row, configuration=row.name, caveats=caveats)
        return made.model_copy(update={"cost": self.costs.get(place, NO_RUN), "variant": row.variant})

    def _silent(self, judged: _Judged) -> int:
        """Judgments of the population that cannot be vetted, because they have no verdict."""
        return judged.without_verdict if self.grid.population.undecided == "wrong" else 0

    def _calibrated(self, row: Configuration, name: str | None) -> list[GridRow]:
        """What a calibration fitted to the row's scores keeps."""
        judged = self.judged.get(name or "")
        if judged is None:
            return []
        what = f"calibrated out of fold on free evidence and the scores of {row.name!r}"
        caveats = [what, *self._caveats_of_judge(row.judge, judged, kept=True)]
        return [
            self._made(row.judge, name, found, None, row, configuration=found.name, caveats=caveats)
            for found in judged.rows.values()
            if found.kind == "calibrated"
        ]

    def _made(
        self,
        judge: str,
        name: str | None,
        found: PrecisionRow | None,
        published: Published | None,
        row: Configuration | None,
        *,
        configuration: str,
        caveats: Sequence[str],
    ) -> GridRow:
        why = self.plan.missing.get(judge, "")
        missing = Absent(absent=why or "no judgments by this judge")
        return GridRow(
            configuration=configuration,
            judge=judge,
            vetted=missing if name is None else name,
            own=name is None or self.plan.vetted.get(judge) == name,
            agents=() if row is None else row.agents,
            rubric="" if row is None else row.rubrics,
            cells={} if found is None else found.cells,
            by_size=self._by_size(found),
            published={} if published is None else published.shares,
            published_overall="" if published is None else published.overall,
            not_compared="" if published is None else self._not_compared(judge, name, found),
            caveats=tuple(dict.fromkeys(caveats)),
            cost=NO_MODEL,
        )

    def _by_size(self, found: PrecisionRow | None) -> Share | Absent:
        if found is None:
            return NO_RUN
        return size_weighted({name: cell.precision for name, cell in found.cells.items()}, self.sizes)

    def _not_compared(self, judge: str, name: str | None, found: PrecisionRow | None) -> str:
        """Why the paper's cells are not beside the same population under the same rule; empty where they are."""
        if found is None or name is None:
            return self.plan.missing.get(judge) or NO_RUN.absent
        if self.plan.vetted.get(judge) != name:
            return f"the judgments are {name}'s, not {judge}'s"
        pairs = self.judged[name].pairs
        if dict(pairs) != dict(self.sizes):
            return f"{_counts(pairs)} are vetted, in the paper {_counts(self.sizes)}"
        rule = self.grid.population
        if rule.games != "first" or rule.undecided != "wrong":
            return f"the paper vets the first game, ties and missing verdicts as wrong; here {rule}"
        return ""

    def _caveats_of_judge(self, judge: str, judged: _Judged | None, *, kept: bool) -> list[str]:
        if judged is None or self.grid.population.undecided != "wrong":
            return []
        if judged.name != self.plan.vetted.get(judge):
            return [f"judgments of {judged.name} in place of {judge}'s"]
        if not judged.without_verdict:
            return []
        if not kept:
            return [f"{judged.without_verdict} judgments without a verdict count as wrong"]
        return [
            f"{judged.without_verdict} judgments without a verdict cannot be vetted, so they are never kept; the "
            "authors' code asks about them, too, and may keep one (as wrong)"
        ]

    def _temperature(self, row: Configuration, result: RowResult | None) -> list[str]:
        """Which agents are asked without the temperature that is set, by protocol or by their server."""
        names = [*row.agents, *([row.summariser] if row.summariser else [])]
        silent = []
        for name in dict.fromkeys(names):
            agent = self.grid.agents[name]
            model = agent.model.partition(":")[2].partition("@")[0]
            said = not_sent(model, "temperature", "")
            dropped = any(notice.startswith(said) for notice in (result.notices if result is not None else ()))
            if agent.temperature is not None and (dropped or "temperature" in not_sent_settings(agent)):
                silent.append(name)
        if not silent:
            return []
        wanted = {self.grid.agents[name].temperature for name in silent}
        return [
            f"{', '.join(silent)} {'takes' if len(silent) == 1 else 'take'} no temperature: asked at the provider's "
            f"default, not at {', '.join(f'{one:g}' for one in wanted if one is not None)}"
        ]


def _incomplete(result: RowResult | None) -> list[str]:
    if result is None or result.end is RunEnd.FINISHED:
        return []
    return [f"the row is not complete ({result.end.value}): {len(result.assessments)} judgments were vetted"]


def _without_rationale(result: RowResult | None) -> list[str]:
    """How many judgments were scored on fewer criteria, because their judge gave no rationale."""
    assessments = () if result is None else result.assessments.values()
    count = sum(
        any(score.not_applicable for agent in one.agents for score in (agent.criteria or {}).values())
        for one in assessments
    )
    if not count:
        return []
    return [f"{count} judgments without a rationale are scored on the criteria that a verdict alone can meet"]


def _in(table: GridTable, tables: Sequence[str]) -> bool:
    return table.name in tables or table.name == ALL


def _pairs(observations: Observations) -> dict[str, int]:
    """Category -> pairs."""
    return dict(Counter(dict(zip(observations.of("item"), observations.of("category"), strict=True)).values()))


def _counts(pairs: Mapping[str, int]) -> str:
    each = ", ".join(f"{name or 'no category'} {count}" for name, count in sorted(pairs.items()))
    return f"{sum(pairs.values())} pairs ({each})"


def overall_of(row: GridRow) -> Mapping[str, float]:
    """The paper's Overall by the rule it was computed by: ``by size``, ``pooled`` or both."""
    if OVERALL not in row.published:
        return {}
    rules = ("by size", "pooled") if row.published_overall == "both" else (row.published_overall,)
    return dict.fromkeys(rules, row.published[OVERALL])
