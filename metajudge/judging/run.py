"""One run of ``metajudge judge``: every judge compares every pair in every order, and each game becomes a record."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from metajudge.judging.combining import Rule
from metajudge.judging.grading import Grading, GradingJudge
from metajudge.judging.pairwise import Game, Orders, PairwiseJudge, orders_of
from metajudge.judging.records import combined_judgment, game_id, judgment_of
from metajudge.readers.jsonl import to_line
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.loop import Job, RunEnd, Stop, run_all
from metajudge.runs.outputs import OrderedFile
from metajudge.types import Item, Usage
from metajudge.vetting.engine import Engine


@dataclass(slots=True)
class JudgeCount:
    """What came of one judge's games, or of its gradings."""

    grades: int = 0
    preferences: int = 0
    ties: int = 0
    no_verdict: int = 0
    failed: int = 0


@dataclass(slots=True)
class JudgeSummary:
    """Counts of one run.

    Attributes:
        judgments: records made, those without a verdict included.
        no_verdict: judges who answered without a verdict, by kind of reason.
        failed: games in which the judge could not be asked: no record is made of them, and the next run with
            the same store asks again.
        combined: verdicts made of the games of both orders; None where none were asked for.
        failures: those by kind; ``failed_games`` says which.
        calls: HTTP requests sent in this run, retries and repairs included.
        cached_calls: replies taken from the store instead.
        cost_usd: dollars of this run, None where a price or the usage was unknown.
        wall_s: seconds from the first request sent to the last result; None where none was sent.
    """

    run_id: str | None = None
    end: RunEnd = RunEnd.FINISHED
    items: int = 0
    judgments: int = 0
    unscored: int = 0
    failed: int = 0
    by_judge: dict[str, JudgeCount] = field(default_factory=dict)
    no_verdict: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    failed_games: list[dict[str, Any]] = field(default_factory=list)
    combined: int | None = None
    bad_lines: int = 0
    calls: int = 0
    cached_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    known_cost_usd: float = 0.0
    notices: list[str] = field(default_factory=list)
    wall_s: float | None = None
    total_s: float = 0.0
    store: str | None = None
    out: str | None = None

    def add(self, game: Game | Grading) -> None:
        """Counts one game or grading."""
        count = self.by_judge[game.judge]
        self.cached_calls += game.spent.cached_calls
        if game.failure is not None and not game.replied:
            self._fail(game, count)
            return
        self.judgments += 1
        if game.verdict is None:
            count.no_verdict += 1
            self.unscored += 1
            self.no_verdict[game.failure.kind.value if game.failure else "unknown"] += 1
        elif isinstance(game, Grading):
            count.grades += 1
        elif game.verdict.is_tie:
            count.ties += 1
        else:
            count.preferences += 1

    def _fail(self, game: Game | Grading, count: JudgeCount) -> None:
        assert game.failure is not None
        count.failed += 1
        self.failed += 1
        self.failures[game.failure.kind.value] += 1
        told = {"judgment_id": game_id(game.item, game.judge, game.order), **game.failure.model_dump(mode="json")}
        self.failed_games.append(told)

    @property
    def counts(self) -> RunCounts:
        """What the exit code depends on: a judge that could not be asked is a failure, a reply of no use is none."""
        return RunCounts(self.end, self.items, self.failed, without_verdict=self.unscored, bad_lines=self.bad_lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data, as ``--json`` prints it and the store keeps it."""
        data = asdict(self)
        del data["failed_games"], data["unscored"]
        data["end"] = self.end.value
        data["without_verdict"] = self.unscored
        data["no_verdict"] = dict(sorted(self.no_verdict.items()))
        data["failures"] = dict(sorted(self.failures.items()))
        for name in ("wall_s", "total_s", "known_cost_usd", "cost_usd"):
            data[name] = None if data[name] is None else round(data[name], 6)
        return data


@dataclass(frozen=True, slots=True)
class Assignment:
    """One game to be played, or one response to be graded."""

    item: Item
    judge: PairwiseJudge | GradingJudge
    order: tuple[str, ...]

    @property
    def key(self) -> str:
        return game_id(self.item, self.judge.name, self.order)

    async def work(self) -> Game | Grading:
        """Asks the judge."""
        if isinstance(self.judge, GradingJudge):
            return await self.judge.grade(self.item, self.order[0])
        first, second = self.order
        return await self.judge.compare(self.item, (first, second))


class PairedGames:
    """Gathers the games of each judge and pair, and writes the verdict they make together, in input order."""

    def __init__(self, file: "OrderedFile", rule: Rule, summary: JudgeSummary) -> None:
        self._file, self._rule, self._summary = file, rule, summary
        self._waiting: dict[int, Game | None] = {}

    def add(self, index: int, game: Game | Grading) -> None:
        """Takes a game; the two of a pair follow each other in the input."""
        assert isinstance(game, Game)
        asked = game.failure is None or game.replied
        other = index ^ 1
        if other not in self._waiting:
            self._waiting[index] = game if asked else None
            return
        first, second = (self._waiting.pop(other), game if asked else None)
        games = [one for one in ((first, second) if other < index else (second, first)) if one is not None]
        line = b""
        if len(games) == 2:
            line = to_line(combined_judgment(games, self._rule))
            self._summary.combined = (self._summary.combined or 0) + 1
        self._file.write(index // 2, line)


async def judge_items(
    engine: Engine,
    items: Iterable[Item],
    *,
    orders: Orders,
    file: OrderedFile,
    summary: JudgeSummary,
    workers: int,
    progress: Callable[[], None],
    stop: Stop | None = None,
    grade: bool = False,
    with_reference: bool = False,
    paired: PairedGames | None = None,
) -> None:
    """Has the agents of an engine's default panel judge items; an interrupted run goes on from the stored replies.

    Args:
        grade: grade every response alone, instead of comparing two.
        with_reference: judges see an item's reference answer.
        paired: told every game, to combine those of a pair.
    """
    kind = GradingJudge if grade else PairwiseJudge
    judges = [kind(a.name, a.model, a.parameters, with_reference) for a in engine.vetter.default.agents]
    summary.run_id = engine.run_id
    summary.by_judge = {judge.name: JudgeCount() for judge in judges}
    ended_at: float | None = None

    async def work(job: Job[Assignment, Game | Grading]) -> Game | Grading:
        nonlocal ended_at
        game = await job.record.work()
        ended_at = time.monotonic()
        return game

    def finished(job: Job[Assignment, Game | Grading], game: Game | Grading, _reused: bool) -> None:
        summary.add(game)
        if paired is not None:
            paired.add(job.index, game)
        asked = game.failure is None or game.replied
        file.write(job.index, to_line(judgment_of(game)) if asked else b"")
        progress()

    async def none_done(_keys: object) -> dict[str, Game | Grading]:
        return {}  # what was done before is found call by call: the store keeps every reply

    engine.heed(stop)
    try:
        summary.end = await run_all(
            assignments(items, judges, orders),
            work,
            key=lambda one: one.key,
            find_done=none_done,
            keep=lambda _game: True,
            finished=finished,
            workers=workers,
            stop=stop,
            grace_s=engine.grace_s,
        )
    finally:
        _account(summary, engine, ended_at)
        await engine.finish(summary.end.value, summary.to_json())


def assignments(
    items: Iterable[Item], judges: Iterable[PairwiseJudge | GradingJudge], orders: Orders
) -> Iterator[Assignment]:
    """All games or gradings, item by item, so that prompts of one item follow each other."""
    judges = list(judges)
    for item in items:
        for judge in judges:
            shown: Iterable[tuple[str, ...]]
            shown = ((name,) for name in item.responses) if isinstance(judge, GradingJudge) else orders_of(item, orders)
            for order in shown:
                yield Assignment(item, judge, order)


def _account(summary: JudgeSummary, engine: Engine, ended_at: float | None) -> None:
    meter = engine.meter
    summary.calls = meter.sent
    summary.usage = meter.usage
    summary.known_cost_usd = meter.cost_usd
    summary.cost_usd = None if meter.unpriced else meter.cost_usd
    summary.notices = list(engine.notices)
    if meter.first_sent_at is not None and ended_at is not None:
        summary.wall_s = ended_at - meter.first_sent_at
