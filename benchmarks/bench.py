"""One benchmark run: read, observe, plan, and put together what was found."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metajudge import __version__
from metajudge.calibration.sources import SIGNAL_GROUPS
from metajudge.errors import ConfigurationError, InputError
from metajudge.evidence.counting import SAID
from metajudge.panels.config import AgentConfig, PanelConfig
from metajudge.providers.spec import parse_agent_spec
from metajudge.reading import JudgmentSource
from metajudge.scoring.formulas import check_threshold
from metajudge.stats import clustered
from metajudge.stats.arrays import Bools
from metajudge.stats.bootstrap import SharedDraws
from metajudge.types import Judgment, Right, VerdictKind, digest

from .benchmark import NAME, Benchmark, benchmark_named, find_folder, open_recorded, own_files
from .findings import BenchFindings, JudgeFindings
from .grid import Plan, PlannedRow, family_note, load_grid, plan_grid
from .observations import Observations, Population, Records, counts_of, named, observed, of_judges, stratified
from .own_judges import WithOwnJudges
from .precision import (
    RESAMPLES,
    SEED,
    Probabilities,
    Score,
    Selection,
    agreement_score,
    coverage_curve,
    keep_above,
    keep_all,
    keep_majority,
    keep_order_consistent,
    keep_shares,
    precision_rows,
    reliability,
    swap_counts,
)
from .tally import JudgedGames

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
        self.records = Records.of(self.source, request.rule, self.population)
        self._present, rules = self.records.counted(), self.records.rules
        if rules.scales.unlike_people():
            raise InputError(" ".join(rules.scales.sentences()))
        self.rules: Mapping[VerdictKind, Right] = rules.rules()
        self.benchmark: Benchmark = recorded or own_files(list(self.source.formats), self.rules)
        self.card = self.benchmark.card
        self.judges = self._judges()
        self._wanted, self._sampled = self._asked_for()
        wrong = self.population.wrong(own=recorded is None)
        rows = np.flatnonzero(self._wanted)
        self.observations = observed(self.records, rows, request.signals, rules=self.rules, wrong=wrong)
        self._raw = "raw judgments" if wrong else "decided verdicts"
        if not len(self.observations):
            raise InputError(f"{', '.join(self.source.formats)}: {self._nothing()}")
        self._games = JudgedGames()
        self._accuracy = self.benchmark.accuracy(self._games.of(self.reported()), self.folder)

    def reported(self) -> Iterator[Judgment]:
        """The judgments asked for with their texts, in the order of the input, which is read again."""
        every = zip(self.source.all(), self._wanted.tolist(), strict=True)
        return (judgment for judgment, wanted in every if wanted)

    def _asked_for(self) -> tuple[Bools, int]:
        """[n] whether each is asked for: of the population, the judges and the sample of items; the sample's size."""
        facts, limit = self.records.facts, self.request.limit
        wanted = np.array(self.records.members, dtype=bool)
        if self.judges is not None:
            wanted &= of_judges(facts, self.judges)
        if limit is None:
            return wanted, 0
        names, categories = [one.id for one in facts.items], [*facts.categories, ""]
        places = zip(facts.item[wanted].tolist(), facts.category[wanted].tolist(), strict=True)
        sample = stratified({names[item]: categories[code] for item, code in places}, limit, self.request.seed)
        return wanted & np.array([name in sample for name in names], dtype=bool)[facts.item], len(sample)

    def _judges(self) -> tuple[str, ...] | None:
        """Whose judgments are reported; without a choice, a grid reports its own judges, as far as they are there."""
        chosen, there = self.request.judges, self._present
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
            plan = plan_grid(self.grid, there, request.judges, present=self._present, stand_in=stand_in)
            kin = family_note(plan.rows, {one for item in self.reported() for one in (item.item.models or {}).values()})
            return replace(plan, notes=(self._counts(), *plan.notes, *([] if kin is None else [kin])))
        panels: list[PlannedRow] = []
        for judge in there:
            if request.baseline is not None:
                alone = (AgentConfig(model=request.baseline),)
                how = {"rubric": "baseline", "strategy": "single", "threshold": request.threshold, "early_exit": False}
                panels.append(PlannedRow("baseline", judge, PanelConfig(agents=alone, **how), baseline=True))
            if (panel := request.panel) is not None:
                agents = ", ".join(parse_agent_spec(agent.spec()).name for agent in panel.agents)
                panels.append(PlannedRow(f"{panel.chosen_strategy}, {panel.rubric}: {agents}", judge, panel))
        return Plan(tuple(panels))

    def _nothing(self) -> str:
        """Why no judgment is reported."""
        if not self._wanted.any():
            return f"none of the {len(self.records.facts):,} judgments is in the population: {self.population}"
        counts = self.observations.left_out
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
            f"{counts['none']} without a verdict, {counts['no label']} without a label, {counts['tied label']} with a "
            f"tied one, {counts['not comparable']} that cannot be compared with theirs"
        )

    def _counts(self) -> str:
        """Every judge of the data with its number, and how many of them are vetted."""
        mine = Counter(self.observations.of("judge"))
        said = [
            f"{judge} {count:,}" + (f" ({mine[judge]:,} in the figures)" if mine[judge] else " (none in the figures)")
            for judge, count in self._present.items()
        ]
        return f"judgments in the data: {', '.join(said)}"

    def findings(
        self, plan: Plan, results: "Sequence[RowResult]" = (), calibrated: Probabilities | None = None
    ) -> BenchFindings:
        """All statistics of the reported judgments."""
        judges = self.observations.judges
        few = len(judges) <= MANY_JUDGES
        found = [self._judge(name, mine, results, calibrated, few=few) for name, mine in self._groups()]
        notes = [*plan.notes, *(notice for result in results for notice in result.notices)]
        if not few:
            notes.append(f"{len(judges)} judges: each has one line; choose some with --judge for tables of their own")
        notes += [*self._left_out(), *(() if calibrated is None else calibrated.meaning)]
        accuracy = self._accuracy if self.population.games == "both" else []
        if self.judges is not None or self.request.limit is not None:
            shown = {*judges, *(judge.rpartition("#")[0] for judge in judges)}
            accuracy = [one for one in accuracy if one.judge in shown]
        grid = None
        if self.grid is not None:
            from .grid_findings import GridTables

            grid = GridTables(self.grid, plan, found, results, self.observations).findings()
        described = ("title", "citation", "licence", "label_rule", "games_rule", "measures")
        return BenchFindings(
            benchmark=self.card.name,
            rules={kind: str(rule) for kind, rule in self.rules.items()},
            categories=self._categories(),
            accuracy=tuple(accuracy),
            judges=tuple(found),
            grid=grid,
            notes=tuple(dict.fromkeys(notes)),
            provenance=self._provenance(calibrated),
            **{name: getattr(self.card, name) for name in described},
        )

    def _groups(self) -> list[tuple[str, Observations]]:
        """What gets a table: all judges together where there are several, then each; kinds are never mixed."""
        seen = self.observations
        together, found = list[tuple[str, Observations]](), list[tuple[str, Observations]]()
        for kind in seen.kinds:
            suffix = f", {kind}" if len(seen.kinds) > 1 else ""
            there = {judge: mine for judge in seen.judges if len(mine := seen.only({judge}, kind))}
            if len(there) > 1:
                together.append((f"{ALL_JUDGES}{suffix}", seen.only(there, kind)))
            found += [(f"{judge}{suffix}", mine) for judge, mine in there.items()]
        return together + found

    def _judge(
        self,
        name: str,
        mine: Observations,
        results: "Sequence[RowResult]",
        calibrated: Probabilities | None,
        *,
        few: bool,
    ) -> JudgeFindings:
        """Everything about some judges' judgments of one kind; ``few`` judges get tables of their own."""
        ((kind,), judges, facts) = mine.kinds, mine.judges, self.records.facts
        by_category = few or len(judges) > 1
        judged = [result for result in results if [result.row.judge] == judges]
        scores, selections = self._selections(mine, judged, calibrated, full=by_category)
        counts = counts_of(facts, np.flatnonzero(self._wanted & of_judges(facts, judges, kind)), self.rules)
        curves = [coverage_curve(mine, score) for score in scores] if by_category else []
        stated = [reliability(mine, score) for score in scores if score.probability]
        undecided, wrong = mine.left_out, Counter(mine.ended.tolist())
        sets = self._games.by_set.items()
        pairs = [pair for judged_set, games in sets if judged_set.judge in judges for pair in games.values()]
        return JudgeFindings(
            judge=name,
            kind=kind,
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
            swap=swap_counts(pairs),
        )

    def _selections(
        self, mine: Observations, results: "Sequence[RowResult]", calibrated: Probabilities | None, *, full: bool
    ) -> tuple[list[Score], list[Selection]]:
        """Every score there is, and every way to keep judgments, raw first and the baseline second."""
        # Free evidence is weighed by a fixed rule, see metajudge.evidence.score.
        scores, asked, fitted = [Score("free evidence", mine.heuristic)], list[Selection](), list[Selection]()
        evidence = _evidence(mine, scores[0], self.request.threshold, full=full)
        if results:
            from .grid_run import score_of, selection_of

            asked = sorted((selection_of(result, mine) for result in results), key=lambda one: one.kind != "baseline")
            scores += [score for result in results if len(set((score := score_of(result, mine)).values)) > 3]
        if calibrated is not None:
            scores.append(calibrated.score(mine))
            fitted = calibrated.selections(mine, scores[-1], full=full)
        baselines = sum(one.kind == "baseline" for one in asked)
        return scores, [keep_all(mine, self._raw), *asked[:baselines], *evidence, *fitted, *asked[baselines:]]

    def _left_out(self) -> list[str]:
        """What is in no figure and should be known of."""
        found = []
        if self.records.reject is not None:
            count, first = self.source.rejects, str(self.records.reject)
            for name in self.source.formats:  # a report is the same on every machine
                first = first.replace(f"{name}/", "").replace(name, Path(name).name)
            found.append(f"{count} bad line{'s are' if count > 1 else ' is'} in no figure, the first {first}")
        left = self.observations.left_out
        found += [f"{left[why]} {text}" for why, text in LEFT_OUT.items() if left[why]]
        found += [notice.rstrip(".") for notice in self.source.notices]
        return found

    def _categories(self) -> tuple[str, ...]:
        there = set(self.observations.of("category")) - {""}
        known = [name for name in self.card.categories if name in there]
        return (*known, *sorted(there - set(known)))

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
        if self._sampled:
            found["sample"] = f"{self._sampled} items, a share of each category, seed {self.request.seed}"
        if self.grid is not None:
            found["grid"] = f"{self.grid.title}: {self.grid.source}"
        return found | ({} if calibrated is None else calibrated.provenance)


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
