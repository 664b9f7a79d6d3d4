"""A grid's tables in the layout of its source: every row with its figures, the printed ones, and what to know of it."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from metajudge.providers.notices import not_sent
from metajudge.providers.spec import PROVIDERS, parse_agent_spec
from metajudge.report.document import Absent
from metajudge.runs.loop import RunEnd

from .findings import (
    GridFindings,
    GridRow,
    GridTable,
    GridTableFindings,
    JudgeFindings,
    PrecisionRow,
    Proportion,
    RowCost,
    Share,
)
from .grid import Configuration, Grid, GridJudge, Plan
from .grid_run import Ledger, RowResult
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
        self.grid, self.plan, self.sizes, self.observations = grid, plan, grid.category_sizes, observations
        self.judged = {one.judge: one for one in judges}
        self.results = {(one.row.judge, one.row.name): one for one in results}
        ledger = Ledger()
        self.costs: dict[tuple[str, str], RowCost] = {
            place: ledger.row(one.row.panel, one.assessments.values(), one.stored_usd)
            for place, one in self.results.items()
        }

    def findings(self) -> GridFindings:
        """All tables."""
        tables = self.grid.tables or (GridTable(name=ALL, caption=self.grid.title),)
        found = ((table, tuple(self._rows(table))) for table in tables)
        return GridFindings(
            title=self.grid.title,
            source=self.grid.source,
            population=str(self.grid.population),
            category_sizes=dict(self.sizes),
            tables=tuple(GridTableFindings(**dict(table), rows=rows) for table, rows in found if rows),
            notes=self.grid.notes,
        )

    def _rows(self, table: GridTable) -> Iterator[GridRow]:
        for judge in self.grid.judges:
            mine = [row for row in self.grid.configurations if row.judge == judge.name and _in(table, row.tables)]
            for name in self._names(judge) if mine else ():
                judged = self.judged.get(name or "")
                if _in(table, judge.tables):
                    caveats = self._caveats_of_judge(judge.name, judged, kept=False)
                    yield self._made(judge, name, None if judged is None else judged.rows[0], caveats)
                yield from (self._row(judge, row, name) for row in mine)
                for row in mine:
                    yield from self._calibrated(judge, row, judged) if row.calibrated and judged is not None else ()

    def _calibrated(self, judge: GridJudge, row: Configuration, judged: JudgeFindings) -> Iterator[GridRow]:
        """What a calibration fitted to the row's scores keeps."""
        what = f"calibrated out of fold on free evidence and the scores of {row.name!r}"
        caveats = [what, *self._caveats_of_judge(judge.name, judged, kept=True)]
        for found in (one for one in judged.rows if one.kind == "calibrated"):
            bare = row.model_copy(update={"name": found.name, "published": None})
            yield self._made(judge, judged.judge, found, caveats, bare)

    def _names(self, judge: GridJudge) -> list[str | None]:
        """Whose judgments the rows of a grid's judge vet: its own, or those of judges asked for in its place."""
        own = self.plan.vetted.get(judge.name)
        planned = {
            row.judge: None
            for row in self.plan.rows
            if row.configuration is not None and row.configuration.judge == judge.name
        }
        return [own] if own is not None else list(planned) or [None]

    def _row(self, judge: GridJudge, row: Configuration, name: str | None) -> GridRow:
        judged = self.judged.get(name or "")
        planned = next((one for one in self.plan.rows if one.configuration == row and one.judge == name), None)
        place = (name or "", planned.name if planned is not None else row.name)
        result = self.results.get(place)
        rows = {} if judged is None or result is None else {one.name: one for one in judged.rows}
        found = rows.get(place[1])
        caveats = [*row.caveats, *self._caveats_of_judge(row.judge, judged if found is not None else None, kept=True)]
        caveats += self._temperature(row, result)
        # Judgments of the population that cannot be vetted, because they have no verdict, are unscored, too.
        silent = judged.without_verdict if judged and self.grid.population.undecided == "wrong" else 0
        undecided = 0 if found is None else found.unscored - silent
        if undecided > 0:
            caveats.append(f"{undecided} judgments got no decision from the agents: they are not kept")
        caveats += [] if result is None else _caveats_of_run(result)
        made = self._made(judge, name, found, caveats, row)
        return made.model_copy(update={"cost": self.costs.get(place, NO_RUN), "variant": row.variant})

    def _made(
        self,
        judge: GridJudge,
        name: str | None,
        found: PrecisionRow | None,
        caveats: Sequence[str],
        row: Configuration | None = None,
    ) -> GridRow:
        """A row of a configuration; of the judge's raw judgments without one."""
        missing = Absent(absent=self.plan.missing.get(judge.name) or "no judgments by this judge")
        published = (judge if row is None else row).published
        precisions = {} if found is None else {category: cell.precision for category, cell in found.cells.items()}
        return GridRow(
            configuration=RAW if row is None else row.name,
            judge=judge.name,
            vetted=missing if name is None else name,
            own=name is None or self.plan.vetted.get(judge.name) == name,
            agents=() if row is None else row.agents,
            rubric="" if row is None else row.rubrics,
            cells={} if found is None else found.cells,
            by_size=NO_RUN if found is None else size_weighted(precisions, self.sizes),
            published={name: round(cell / 100, 6) for name, cell in (published.cells if published else {}).items()},
            published_overall="" if published is None else published.overall,
            not_compared="" if published is None else self._not_compared(judge.name, name, found),
            caveats=tuple(dict.fromkeys(caveats)),
            cost=NO_MODEL,
        )

    def _not_compared(self, judge: str, name: str | None, found: PrecisionRow | None) -> str:
        """Why the paper's cells are not beside the same population under the same rule; empty where they are."""
        if found is None or name is None:
            return self.plan.missing.get(judge) or NO_RUN.absent
        if self.plan.vetted.get(judge) != name:
            return f"the judgments are {name}'s, not {judge}'s"
        seen = self.observations.only({name})
        pairs = Counter(dict(zip(seen.of("item"), seen.of("category"), strict=True)).values())
        if dict(pairs) != dict(self.sizes):
            return f"{_counts(pairs)} are vetted, in the paper {_counts(self.sizes)}"
        rule = self.grid.population
        if rule.games != "first" or rule.undecided != "wrong":
            return f"the paper vets the first game, ties and missing verdicts as wrong; here {rule}"
        return ""

    def _caveats_of_judge(self, judge: str, judged: JudgeFindings | None, *, kept: bool) -> list[str]:
        if judged is None or self.grid.population.undecided != "wrong":
            return []
        if judged.judge != self.plan.vetted.get(judge):
            return [f"judgments of {judged.judge} in place of {judge}'s"]
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
        silent = []
        for name in dict.fromkeys([*row.agents, *([row.summariser] if row.summariser else [])]):
            agent = self.grid.agents[name]
            said = not_sent(agent.model.partition(":")[2].partition("@")[0], "temperature", "")
            dropped = result is not None and any(notice.startswith(said) for notice in result.notices)
            protocol = PROVIDERS[parse_agent_spec(agent.spec()).provider].protocol
            if agent.temperature is not None and (dropped or protocol == "anthropic"):
                silent.append(name)
        if not silent:
            return []
        wanted = {self.grid.agents[name].temperature for name in silent}
        return [
            f"{', '.join(silent)} {'takes' if len(silent) == 1 else 'take'} no temperature: asked at the provider's "
            f"default, not at {', '.join(f'{one:g}' for one in wanted if one is not None)}"
        ]


def _caveats_of_run(result: RowResult) -> Iterator[str]:
    """How many judgments were scored on fewer criteria, and whether the run is complete."""
    count = sum(
        any(score.not_applicable for agent in one.agents for score in (agent.criteria or {}).values())
        for one in result.assessments.values()
    )
    if count:
        yield f"{count} judgments without a rationale are scored on the criteria that a verdict alone can meet"
    if result.end is not RunEnd.FINISHED:
        yield f"the row is not complete ({result.end.value}): {len(result.assessments)} judgments were vetted"


def _in(table: GridTable, tables: Sequence[str]) -> bool:
    return table.name in tables or table.name == ALL


def _counts(pairs: Mapping[str, int]) -> str:
    each = ", ".join(f"{name or 'no category'} {count}" for name, count in sorted(pairs.items()))
    return f"{sum(pairs.values())} pairs ({each})"
