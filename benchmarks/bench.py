"""One benchmark run: read, observe, plan, and put together what was found."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from metajudge import __version__
from metajudge.calibration.sources import SIGNAL_GROUPS
from metajudge.errors import ConfigurationError, InputError
from metajudge.evidence.counting import SAID, Counts
from metajudge.panels.config import AgentConfig, PanelConfig
from metajudge.providers.spec import parse_agent_spec
from metajudge.readers import JudgmentSource, Reject
from metajudge.scoring.formulas import check_threshold
from metajudge.stats import clustered
from metajudge.stats.bootstrap import SharedDraws
from metajudge.types import Judgment, Right, VerdictKind, digest, kind_of

from .benchmark import Benchmark, find_folder, open_recorded
from .catalogue import benchmark_named
from .findings import Accuracy, BenchFindings, GridFindings, JudgeFindings
from .grid import load_grid
from .grid_plan import Plan, PlannedRow, family_note, plan_grid
from .judged_games import JudgedGames, PairGames
from .observations import Observations, observed
from .own_files import NAME, own_files
from .own_judges import WithOwnJudges
from .population import Population, named
from .precision import RESAMPLES, SEED, coverage_curve, precision_rows, reliability, swap_counts
from .records import Records
from .selections import (
    Probabilities,
    Score,
    Selection,
    agreement_score,
    heuristic_score,
    keep_above,
    keep_all,
    keep_majority,
    keep_order_consistent,
    keep_shares,
)

if TYPE_CHECKING:
    from .grid_run import RowResult

MANY_JUDGES = 12
"""With more judges than these, each gets one line over all categories instead of tables and curves of its own."""

ALL_JUDGES = "all judges"

SCALE = (1.0, 5.0)
"""Of the heuristic score and of the built-in rubrics."""

LEFT_OUT = {
    "no label": "of the judgments asked for have no label and are in no figure",
    "tied label": "of the judgments asked for are on items whose label names no winner, and are in no figure",
    "not comparable": "of the judgments asked for cannot be compared with their label, and are in no figure",
}
"""Reason why judgments are left out of the figures -> the words for it."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for.

    Attributes:
        judges: whose judgments are reported; None for all. Evidence always comes from all records.
        limit: how many items are reported, drawn by category; for every judge the same.
        signals: names of :data:`~metajudge.calibration.sources.SIGNAL_GROUPS`; None for the calibration's, or all.
        threshold: above which the heuristic score and panels' scores are kept.
        panel: one configuration of agents to run; its threshold is its own.
        baseline: ``PROVIDER:MODEL`` of the judge's own model, run with the rubric ``baseline``.
        seed: of the sample that ``limit`` draws.
        rule: what counts as right, for the kinds of verdicts that it applies to; None for their defaults.
    """

    benchmark: str
    data: Path | None = None
    judges: tuple[str, ...] | None = None
    limit: int | None = None
    signals: tuple[str, ...] | None = None
    threshold: float = 4.5
    panel: PanelConfig | None = None
    baseline: str | None = None
    grid: str | None = None
    rule: Right | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ConfigurationError(f"--limit must be at least 1, not {self.limit}: 0 items have no precision")
        unknown = sorted(set(self.signals or ()) - set(SIGNAL_GROUPS))
        if unknown:
            raise ConfigurationError(f"no signal is named {', '.join(unknown)}; there are: {', '.join(SIGNAL_GROUPS)}")
        check_threshold(self.threshold, SCALE)
        if self.grid is not None and (self.panel is not None or self.baseline is not None):
            raise ConfigurationError("--grid brings its own agents: drop --agent, --baseline and --config, or the grid")


class Bench:
    """A benchmark's records, or files of one's own, read and observed.

    Args:
        own: judgments of one's own: all there is for the benchmark ``file``, else on the benchmark's items, measured
            beside the recorded ones.

    Raises:
        InputError: unknown benchmark or judge, nothing readable, or nothing that can be right or wrong.
    """

    def __init__(self, request: Request, own: JudgmentSource | None = None) -> None:
        self.request = request
        recorded: Benchmark | None = None if request.benchmark == NAME else benchmark_named(request.benchmark)
        self.source, self.folder = _opened(request, recorded, own)
        self._draws = SharedDraws(SEED, RESAMPLES)
        self.grid = None if request.grid is None else load_grid(request.grid)
        self.population = Population() if self.grid is None else self.grid.population
        self.records = Records.of(self.source, request.rule, self.population, sampled=request.limit is not None)
        self.census, rules = self.records.census, self.records.rules
        if rules.scales.unlike_people():
            raise InputError(" ".join(rules.scales.sentences()))
        self.rules: Mapping[VerdictKind, Right] = rules.rules()
        self.benchmark: Benchmark = recorded or own_files(list(self.source.formats), self.rules)
        self.card = self.benchmark.card
        self.judges = self._judges()
        self._sample = None if request.limit is None else self.census.sample(self.judges, request.limit, request.seed)
        wanted = self._wanted()
        watched = [(row, one) for row, one in enumerate(self.records.judgments) if wanted(one)]
        wrong = self.population.wrong(own=recorded is None)
        self.observations = observed(self.records, watched, request.signals, rules=self.rules, wrong=wrong)
        self._raw = "raw judgments" if wrong else "decided verdicts"
        self._games, self._candidates = JudgedGames(), set[str]()
        self._counted: dict[tuple[str, VerdictKind], Counts] = {}
        for _, judgment in watched:
            said = judgment.verdict or judgment.item.truth
            kind: VerdictKind = "pairwise" if said is None else kind_of(said)
            self._counted.setdefault((judgment.judge, kind), Counts(self.rules)).add(judgment)
            self._games.add(judgment)
            self._candidates.update((judgment.item.models or {}).values())
        self._accuracy = self.benchmark.accuracy((one for _, one in watched), self.folder)
        if not len(self.observations):
            raise InputError(f"{self.name}: {self._nothing()}")

    @property
    def name(self) -> str:
        """The data, for messages."""
        return ", ".join(self.source.formats)

    def reported(self) -> Iterator[Judgment]:
        """The judgments asked for with their texts, in the order of the input, which is read again."""
        return filter(self._wanted(), self.source.all())

    def _wanted(self) -> Callable[[Judgment], bool]:
        """Whether a judgment is asked for: of the population, its sample and the judges; for one pass in order."""
        member = self.population.members()

        def wanted(judgment: Judgment) -> bool:
            asked = self.judges is None or judgment.judge in self.judges
            return asked and (self._sample is None or judgment.item.id in self._sample) and member(judgment)

        return wanted

    @property
    def first_reject(self) -> Reject | None:
        """The first bad line."""
        return self.records.reject

    def _judges(self) -> tuple[str, ...] | None:
        """Whose judgments are reported; without a choice, a grid reports its own judges, as far as they are there."""
        chosen, there = self.request.judges, self.census.present
        unknown = sorted(set(chosen or ()) - set(there))
        if unknown:
            raise InputError(f"no judgment by {', '.join(map(repr, unknown))}; the judges here are {named(there)}")
        if self.grid is None or chosen is not None:
            return chosen
        return tuple(name for name in there if any(judge.matches(name) for judge in self.grid.judges)) or None

    @property
    def fitted(self) -> bool:
        """Whether a calibration is fitted to the labels where the user does not say."""
        calibrated = self.grid is not None and any(row.calibrated for row in self.grid.configurations)
        return calibrated or (self.grid is None and self.card.fitted)

    def vetted(self) -> dict[str, list[Judgment]]:
        """Judge -> what a configuration vets: its judgments that can be right or wrong.

        Where ties count as wrong they are vetted, too. A missing verdict cannot be vetted: it is never kept.
        """
        found: dict[str, list[Judgment]] = {judge: [] for judge in self.observations.judges}
        seen = self.observations
        ids = {name for name, ended in zip(seen.ids, seen.ended.tolist(), strict=True) if ended != "none"}
        for judgment in self.reported():
            if judgment.id in ids:
                found[judgment.judge].append(judgment)
        return found

    def plan(self, *, dry_run: bool = False) -> Plan:
        """The configurations that ask models; none where neither agents nor a grid are given.

        Args:
            dry_run: whether another judge's judgments may stand in for those that are still to be made.
        """
        request, there = self.request, self.observations.judges
        if self.grid is not None:
            most = Counter(self.observations.of("judge")).most_common(1)[0][0]
            stand_in = most if dry_run else None
            plan = plan_grid(self.grid, there, request.judges, present=self.census.present, stand_in=stand_in)
            kin = family_note(plan.rows, self._candidates)
            return replace(plan, notes=(self._counts(), *plan.notes, *([] if kin is None else [kin])))
        panels: list[PlannedRow] = []
        for judge in there:
            if request.baseline is not None:
                panels.append(PlannedRow("baseline", judge, _baseline(request), baseline=True))
            if request.panel is not None:
                panels.append(PlannedRow(_panel_name(request.panel), judge, request.panel))
        return Plan(tuple(panels))

    def _nothing(self) -> str:
        """Why no judgment is reported."""
        found = sum(self.census.members[judge] for judge in self.judges or self.census.present)
        if not found:
            return f"none of the {self.census.present.total():,} judgments is in the population: {self.population}"
        return _nothing_decided(self.observations)

    def _counts(self) -> str:
        """Every judge of the data with its number, and how many of them are vetted."""
        mine = Counter(self.observations.of("judge"))
        said = [
            f"{judge} {count:,}" + (f" ({mine[judge]:,} in the figures)" if mine[judge] else " (none in the figures)")
            for judge, count in self.census.present.items()
        ]
        return f"judgments in the data: {', '.join(said)}"

    def findings(
        self, plan: Plan, results: "Sequence[RowResult]" = (), calibrated: Probabilities | None = None
    ) -> BenchFindings:
        """All statistics of the reported judgments."""
        accuracy = self._reported_accuracy() if self.population.games == "both" else ()
        games = self._games.by_judge()
        judges = self.observations.judges
        by_category = len(judges) <= MANY_JUDGES
        found = []
        for group in self._groups(judges):
            mine = self.observations.only(group.judges, group.kind)
            if len(mine):
                judged = [result for result in results if [result.row.judge] == list(group.judges)]
                full = by_category or len(group.judges) > 1
                found.append(self._judge(group, mine, games, judged, plan, calibrated, by_category=full))
        notes = [*plan.notes, *(notice for result in results for notice in result.notices)]
        if not by_category:
            notes.append(f"{len(judges)} judges: each has one line; choose some with --judge for tables of their own")
        notes += [*self._left_out(), *(() if calibrated is None else calibrated.meaning)]
        return BenchFindings(
            benchmark=self.card.name,
            title=self.card.title,
            citation=self.card.citation,
            licence=self.card.licence,
            label_rule=self.card.label_rule,
            games_rule=self.card.games_rule,
            rules={kind: str(rule) for kind, rule in self.rules.items()},
            measures=self.card.measures,
            categories=self._categories(),
            accuracy=tuple(accuracy),
            judges=tuple(found),
            grid=self._grid_findings(plan, found, results),
            notes=tuple(dict.fromkeys(notes)),
            provenance=self._provenance(calibrated),
        )

    def _groups(self, judges: Sequence[str]) -> list["_Group"]:
        """What gets a table: all judges together where there are several, then each; kinds are never mixed."""
        kinds = self.observations.kinds
        found = []
        for kind in kinds:
            there = [judge for judge in judges if len(self.observations.only({judge}, kind))]
            suffix = f", {kind}" if len(kinds) > 1 else ""
            if len(there) > 1:
                found.append(_Group(f"{ALL_JUDGES}{suffix}", tuple(there), kind))
            found += [_Group(f"{judge}{suffix}", (judge,), kind) for judge in there]
        return sorted(found, key=lambda group: len(group.judges) == 1)

    def _judge(
        self,
        group: "_Group",
        mine: Observations,
        games: Mapping[str, Sequence[PairGames]],
        results: "Sequence[RowResult]",
        plan: Plan,
        calibrated: Probabilities | None,
        *,
        by_category: bool,
    ) -> JudgeFindings:
        scores, selections = _selections(
            mine, self.request.threshold, results, calibrated, full=by_category, raw=self._raw
        )
        counts = Counts(self.rules)
        for name in group.judges:
            counts.extend(self._counted.get((name, group.kind), Counts()))
        curves = [coverage_curve(mine, score) for score in scores] if by_category else []
        stated = [reliability(mine, score) for score in scores if score.probability]
        undecided = sum(mine.undecided.values(), Counter[str]())
        wrong = Counter(mine.ended.tolist())
        pairs = [pair for name in mine.judges for pair in games.get(name, ())]
        return JudgeFindings(
            judge=group.name,
            kind=group.kind,
            counts={name: row for name, row in counts.rows().items() if name in ("all", *SAID)},
            judgments=len(mine) + undecided.total(),
            decided=wrong["decided"],
            ties=undecided["tie"] + wrong["tie"],
            without_verdict=undecided["none"] + wrong["none"],
            questions=len(set(mine.of("question"))),
            rows=tuple(precision_rows(mine, selections, self._categories(), self._draws, by_category=by_category)),
            curves=tuple(curve for curve in curves if curve is not None),
            reliability=tuple(series for series in stated if series is not None),
            notes=() if calibrated is None else calibrated.notes(mine),
            compact=not by_category,
            swap=swap_counts([_outcomes(pair) for pair in pairs if len(pair.games) == 2]),
        )

    def _left_out(self) -> list[str]:
        """What is in no figure and should be known of."""
        found = []
        if self.first_reject is not None:
            count = self.source.rejects
            first = str(self.first_reject)
            for name in self.source.formats:  # a report is the same on every machine
                first = first.replace(f"{name}/", "").replace(name, Path(name).name)
            found.append(f"{count} bad line{'s are' if count > 1 else ' is'} in no figure, the first {first}")
        left = sum(self.observations.undecided.values(), Counter[str]())
        found += [f"{left[why]} {text}" for why, text in LEFT_OUT.items() if left[why]]
        found += [notice.rstrip(".") for notice in self.source.notices]
        return found

    def _reported_accuracy(self) -> list[Accuracy]:
        if self.judges is None and self.request.limit is None:
            return self._accuracy
        judges = set(self.observations.judges)
        strategies = {judge.rpartition("#")[0] for judge in judges}
        return [one for one in self._accuracy if one.judge in judges | strategies]

    def _categories(self) -> tuple[str, ...]:
        there = set(self.observations.of("category")) - {""}
        known = [name for name in self.card.categories if name in there]
        return (*known, *sorted(there - set(known)))

    def _grid_findings(
        self, plan: Plan, judges: Sequence[JudgeFindings], results: "Sequence[RowResult]"
    ) -> GridFindings | None:
        if self.grid is None:
            return None
        from .grid_findings import GridTables

        return GridTables(self.grid, plan, judges, results, self.observations).findings()

    def _provenance(self, calibrated: Probabilities | None) -> dict[str, str]:
        names, questions = self.observations.ids, set(self.observations.of("question"))
        found = {
            "metajudge": __version__,
            "benchmark": f"{self.card.title}; {self.card.citation}",
            "licence of the data": self.card.licence,
            "data": f"{', '.join(Path(name).name for name in self.source.formats)}: {self.source.judgments} judgments "
            f"read as "
            f"{', '.join(self.source.formats.values())}, {self.source.rejects} bad lines, {self.source.duplicates} "
            "repeated",
            "judgments reported": f"{len(names)}, digest {digest(names)}",
            "questions": f"{len(questions)}, digest {digest(sorted(questions))}",
            "intervals": f"by question; precision {clustered.RESAMPLES:,} resamples, seed {clustered.SEED}, or "
            f"Wilson's with the effective number of questions; differences {RESAMPLES:,} resamples, seed {SEED}",
        }
        if self._sample is not None:
            found["sample"] = f"{len(self._sample)} items, a share of each category, seed {self.request.seed}"
        if self.grid is not None:
            found["grid"] = f"{self.grid.title}: {self.grid.source}"
        return found | ({} if calibrated is None else calibrated.provenance)


@dataclass(frozen=True, slots=True)
class _Group:
    """Judges that share a table."""

    name: str
    judges: tuple[str, ...]
    kind: VerdictKind


def _opened(
    request: Request, recorded: Benchmark | None, own: JudgmentSource | None
) -> tuple[JudgmentSource | WithOwnJudges, Path]:
    """The judgments, and the folder in which further records may lie."""
    if recorded is None:
        if own is None:
            raise InputError("no file is given: name at least one file or folder of labelled judgments")
        first = Path(next(iter(own.formats)))
        return own, first if first.is_dir() else first.parent
    if request.data is None:
        raise InputError(f"the folder of {recorded.card.title} is not given")
    folder = find_folder(recorded.card, request.data)
    source = open_recorded(recorded.card, folder)
    return (source if own is None else WithOwnJudges(source, own)), folder


def _selections(
    mine: Observations,
    threshold: float,
    results: "Sequence[RowResult]",
    calibrated: Probabilities | None,
    *,
    full: bool,
    raw: str,
) -> tuple[list[Score], list[Selection]]:
    """Every score there is, and every way to keep judgments, raw first and the baseline second."""
    free = heuristic_score(mine)
    scores = [free]
    asked: list[Selection] = []
    if results:
        from .grid_run import score_of, selection_of

        asked = [selection_of(result, mine) for result in results]
        scores += [score for result in results if len(set((score := score_of(result, mine)).values)) > 3]
    baseline = [selection for selection in asked if selection.kind == "baseline"]
    others = [selection for selection in asked if selection.kind != "baseline"]
    fitted: list[Selection] = []
    if calibrated is not None:
        probability = calibrated.score(mine)
        scores.append(probability)
        fitted = calibrated.selections(mine, probability, full=full)
    return scores, [keep_all(mine, raw), *baseline, *_evidence(mine, free, threshold, full=full), *fitted, *others]


def _evidence(mine: Observations, free: Score, threshold: float, *, full: bool) -> list[Selection]:
    """What is kept without a label: order, peers and the score of free evidence, as far as the kind has them."""
    pairs = mine.kinds == ("pairwise",)
    found: list[Selection] = []
    shared: list[Score] = []
    if pairs:
        found.append(keep_order_consistent(mine))
    else:
        peers = agreement_score(mine)
        if peers.present.any():
            found.append(keep_majority(mine))
            shared.append(peers)
    if pairs or free.present.any():
        found.append(keep_above(free, threshold, f"free evidence above {threshold:g}"))
        shared.append(free)
    if full:
        found += [row for score in shared for row in keep_shares(score, "evidence")]
    return found


def _baseline(request: Request) -> PanelConfig:
    return PanelConfig(
        agents=(AgentConfig(model=request.baseline or ""),),
        rubric="baseline",
        strategy="single",
        threshold=request.threshold,
        early_exit=False,
    )


def _panel_name(panel: PanelConfig) -> str:
    agents = ", ".join(parse_agent_spec(agent.spec()).name for agent in panel.agents)
    return f"{panel.chosen_strategy}, {panel.rubric}: {agents}"


def _outcomes(pair: PairGames) -> tuple[bool | None, bool | None]:
    first, second = (None if game is None or game == PairGames.TIE else game == pair.label for game in pair.games)
    return first, second


def _nothing_decided(observations: Observations) -> str:
    counts: Counter[str] = sum(observations.undecided.values(), Counter())
    if counts["no label"] + counts["tied label"] == counts.total():
        return (
            "no judgment's item has a label that names a winner: precision needs true labels "
            '("label": "A>B" in the file of pairs or items)'
            if counts["tied label"]
            else "no judgment's item has a label: precision needs true labels "
            '("label" in the file of pairs or items, such as "A>B", 4 or "pass"), or --labels FILE'
        )
    return (
        f"none of the {counts.total()} judgments reported can be right or wrong: {counts['tie']} ties, "
        f"{counts['none']} without a verdict, {counts['no label']} without a label, {counts['tied label']} with a tied "
        f"one, {counts['not comparable']} that cannot be compared with theirs"
    )
