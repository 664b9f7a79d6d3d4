"""What a benchmark run found: plain, frozen data, as ``--json`` writes it and the report shows it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from numpy.typing import ArrayLike
from pydantic import Field, model_serializer

from metajudge.evidence.counting import Counted
from metajudge.report.document import Absent, Curve, Measured, ReliabilitySeries
from metajudge.stats.clustered import clustered_proportion
from metajudge.types import VerdictKind
from metajudge.types.frozen import Finite
from metajudge.vetting.bars import Bar, Reached

OVERALL = "Overall"
"""The column over all categories."""

Origin = Literal[
    "none",
    "fixed beforehand",
    "set by coverage, no label used",
    "guaranteed, set on labels of its own",
    "guaranteed, approximate",
    "guaranteed, set on the other half of the questions",
]
"""Where a selection's threshold comes from."""


class Share(Measured):
    """A share of n observations, with a 95 % interval by question; ``share`` in what is written.

    Attributes:
        questions: the n observations come from so many questions, the unit of independence.
    """

    WRITTEN: ClassVar[tuple[str, ...]] = ("share", "low", "high", "n", "questions")

    value: float = Field(alias="share")
    n: int
    questions: int

    @property
    def share(self) -> float:
        return self.value

    @model_serializer
    def _write(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.WRITTEN}


class Proportion(Share):
    """``successes`` of ``n``, with a 95 % interval by question (:mod:`metajudge.stats.clustered`).

    Attributes:
        effective_n: independent observations that would know as much.
        method: how the interval was made.
    """

    WRITTEN = ("successes", "n", "share", "low", "high", "questions", "effective_n", "method")

    successes: int
    effective_n: float
    method: str

    @classmethod
    def of(cls, right: ArrayLike, questions: ArrayLike) -> "Proportion":
        """The share of right ones; ``right`` [n] is 0 or 1, ``questions`` [n] names the question of each.

        Raises:
            InputError: n is 0; report that as absent.
        """
        found = clustered_proportion(right, questions)
        return cls(
            successes=found.successes,
            n=found.n,
            share=found.estimate,
            low=found.low,
            high=found.high,
            questions=found.clusters,
            effective_n=round(found.effective_n, 3),
            method=found.method,
        )


@dataclass(slots=True)
class Outcomes:
    """Outcomes as they come, each with its question."""

    right: list[bool] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)

    def add(self, right: bool, question: str) -> None:
        self.right.append(right)
        self.questions.append(question)

    def share(self, where_none: str) -> Proportion | Absent:
        """The share of right ones, or the reason why it is missing."""
        return Proportion.of(self.right, self.questions) if self.right else Absent(absent=where_none)


AccuracyKind: TypeAlias = Literal["pairwise", "reward model", "pointwise", "ranking", "grade", "category", "majority"]


class Accuracy(Finite):
    """How often one judge is right, by the benchmark's own rule.

    Attributes:
        responses_by: the model whose pairs were judged, where one wrote all of them.
        cells: category -> share by the rule, :data:`OVERALL` included.
        measures: further shares by category, where the benchmark publishes them.
        games: single verdicts asked for; ``decided`` of them name a winner, ``ties`` none, the rest is unread.
        precision: share of right ones among the decided games.
        agreeing: pairs whose two games name the same winner, and how many of these name the right one.
    """

    judge: str
    kind: AccuracyKind
    responses_by: str | None
    cells: dict[str, Proportion]
    measures: dict[str, dict[str, Proportion]] = Field(default_factory=dict)
    games: int
    decided: int
    ties: int
    without_verdict: int
    precision: Proportion | Absent
    agreeing: Proportion | Absent


class PrecisionDifference(Measured):
    """Precision of a selection minus another one's, with a 95 % interval from resampled questions."""

    questions: int
    resamples: int


class PrecisionCell(Finite):
    """One selection in one category.

    Attributes:
        n: decided judgments; ``right`` of them are right by the rule of their kind.
        selected: how many were kept; ``selected_right`` of them are right.
        precision: absent where nothing was selected.
        coverage: selected of n.
        recall: right and selected of right; absent where nothing is right.
        against_raw: precision minus that of all decided judgments.
        against_baseline: precision minus that of the single-agent baseline.
    """

    n: int
    right: int
    selected: int
    selected_right: int
    precision: Proportion | Absent
    coverage: float
    recall: float | Absent
    against_raw: PrecisionDifference | Absent
    against_baseline: PrecisionDifference | Absent


class Threshold(Finite):
    """Above (or at) what a score was kept, and where that comes from."""

    value: float | None
    origin: Origin

    def __str__(self) -> str:
        return "no threshold" if self.value is None else f"{self.value:.3g}, {self.origin}"


class PrecisionRow(Finite):
    """One selection over all categories.

    Attributes:
        cells: category -> cell, :data:`OVERALL` included; categories without judgments are left out.
        orders: order shown -> the cell over all categories, so that a position effect cannot hide.
        unscored: decided judgments the selection has no score for; they are not selected.
        cost_usd: absent where no model is asked, or a price or the usage is unknown.
        column: the name that rows of several judges share: by the coverage asked for, not the one reached.
    """

    name: str
    column: str = ""
    kind: Literal["raw", "baseline", "evidence", "configuration", "calibrated"]
    threshold: Threshold
    cells: dict[str, PrecisionCell]
    orders: dict[str, PrecisionCell]
    unscored: int = 0
    cost_usd: float | Absent
    calls: int | Absent


class SwapCounts(Finite):
    """Pairs by the judge's verdicts in the two orders; only pairs asked in both."""

    both_right: int = 0
    both_wrong: int = 0
    disagree: int = 0
    one_undecided: int = 0
    both_undecided: int = 0


class JudgeFindings(Finite):
    """Everything about one judge's judgments (or several judges' together), of one kind."""

    judge: str
    kind: VerdictKind = "pairwise"
    counts: dict[str, Counted] = Field(default_factory=dict, description="All given, and what the judge said.")
    judgments: int
    decided: int
    ties: int
    without_verdict: int
    questions: int
    rows: tuple[PrecisionRow, ...]
    curves: tuple[Curve, ...] = ()
    reliability: tuple[ReliabilitySeries, ...] = ()
    swap: SwapCounts = SwapCounts()
    notes: tuple[str, ...] = ()
    compact: bool = Field(default=False, description="Whether there are many judges, and this one gets one line.")


CostFormula: TypeAlias = Literal["sum", "2 sum", "sum + summariser", "2 sum + summariser", "both orders"]


class RowCost(Finite):
    """What a configuration costs by itself, and what was paid for it here.

    Attributes:
        formula: the paper's count of its cost: each agent once (``sum``), twice, or twice and a summariser;
            ``both orders`` for blind verdicts in each order, which the paper does not have.
        calls: requests, replies taken from the store included; ``paid_calls`` of them were sent.
        cost_usd: as if nothing were stored; absent where a price or a stored reply's price is unknown.
        once_usd: of asking each agent once, with the same replies.
        paid_usd: what was paid, when a reply that an earlier row already has costs nothing.
    """

    formula: CostFormula
    calls: int
    cost_usd: float | Absent
    once_usd: float | Absent
    paid_calls: int
    paid_usd: float | Absent


class GridRow(Finite):
    """One row of a table in the paper's layout.

    Attributes:
        judge: as the grid names it; ``vetted`` is whose judgments are vetted, by the name in the data, absent where
            there are none; ``own`` whether that is the judge the grid means.
        cells: category -> cell, :data:`OVERALL` (pooled) included; empty where nothing was run.
        by_size: Overall as the mean of the category precisions weighted by pairs (see ``size_weighted``).
        published: the paper's cells, as shares; ``published_overall`` says which Overall it prints.
        not_compared: why they are not shown beside ours; empty where population and rule are the paper's.
        caveats: what a reader of the row has to know.
    """

    configuration: str
    judge: str
    vetted: str | Absent
    own: bool
    agents: tuple[str, ...]
    rubric: str
    variant: bool = False
    cells: dict[str, PrecisionCell] = Field(default_factory=dict)
    by_size: Share | Absent
    published: dict[str, float] = Field(default_factory=dict)
    published_overall: Literal["by size", "pooled", "both", ""] = ""
    not_compared: str = ""
    caveats: tuple[str, ...] = ()
    cost: RowCost | Absent


class GridTable(Finite):
    """One table of the report. ``chart``: its figures are also drawn, as the paper's figure 5."""

    name: str
    caption: str
    chart: bool = False
    notes: tuple[str, ...] = ()


class GridTableFindings(GridTable):
    """One table of a grid."""

    rows: tuple[GridRow, ...]


class GridFindings(Finite):
    """A grid's tables, in the layout of its source."""

    title: str
    source: str
    population: str
    category_sizes: dict[str, int]
    tables: tuple[GridTableFindings, ...]
    notes: tuple[str, ...] = ()


class BenchFindings(Finite):
    """The whole result of ``metajudge bench``."""

    version: Literal[1] = 1
    benchmark: str
    title: str
    citation: str
    licence: str
    label_rule: str
    games_rule: str
    rules: dict[str, str] = Field(default_factory=dict, description="Kind of verdict -> what counts as right.")
    categories: tuple[str, ...]
    measures: tuple[str, ...] = Field(default=(), description="Names in Accuracy.measures that the tables show.")
    accuracy: tuple[Accuracy, ...]
    judges: tuple[JudgeFindings, ...]
    grid: GridFindings | None = None
    notes: tuple[str, ...] = ()
    provenance: dict[str, str] = Field(default_factory=dict)


def reached_by(bars: Sequence[Bar], findings: BenchFindings) -> list[Reached]:
    """What each measured selection of a benchmark reached, over all categories.

    Counted are the configurations asked (without agents: free evidence above the threshold) and guaranteed
    thresholds, for every judge; rows set by coverage or for comparison are not.
    """
    reached = []
    for judge in findings.judges:
        rows = [row for row in judge.rows if row.kind == "configuration" or row.threshold.origin.startswith("guara")]
        rows = rows or [row for row in judge.rows if row.kind == "evidence" and row.threshold.value is not None]
        for row in (row for row in rows if not row.threshold.origin.startswith("set by coverage")):
            cell = row.cells["Overall"]
            for bar in bars:
                where = f"{judge.judge}, {row.name}"
                precision = bar.measure == "precision"
                part, whole = (cell.selected_right, cell.selected) if precision else (cell.selected, cell.n)
                reached.append(Reached(bar, part, whole, where))
    return reached
