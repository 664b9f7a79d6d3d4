"""Judging items: every judge compares every pair in every order, or grades every response, blind; each a record."""

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeVar

from metajudge.concurrency import all_of
from metajudge.errors import ConfigurationError, InputError
from metajudge.judging.judges import Game, Grading, GradingJudge, Orders, PairwiseJudge, orders_of
from metajudge.judging.records import Rule, combined_judgment, game_id, judgment_of
from metajudge.panels.config import PanelConfig
from metajudge.providers.model import ModelRequest
from metajudge.reading.reasons import ItemLike, as_record
from metajudge.runs.estimate import REASONING_TOKENS, Estimate, prices_of, size_of
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.loop import Job, Stop, run_all
from metajudge.runs.totals import RunTotals
from metajudge.session import Respondent, Respondents, Session, note_unused
from metajudge.types import Item, Judgment

J = TypeVar("J", PairwiseJudge, GradingJudge)


@dataclass(slots=True)
class JudgeCount:
    """Results of one judge, by kind."""

    grades: int = 0
    preferences: int = 0
    ties: int = 0
    no_verdict: int = 0
    failed: int = 0


@dataclass(slots=True, kw_only=True)
class JudgeTotals(RunTotals):
    """Counts of one run.

    Attributes:
        judgments: records made, those without a verdict included: ``without_verdict``.
        no_verdict: judges who answered without a verdict, by kind of reason.
        failed: games in which the judge could not be asked: no record is made of them, and the next run with
            the same store asks again. ``failures`` counts these by kind, ``failed_games`` lists them.
        combined: verdicts made of the games of both orders; None where none were asked for.
    """

    NOUN: ClassVar[str] = "judgments"
    LOST: ClassVar[str] = "without a verdict"
    DONE: ClassVar[tuple[str, ...]] = ("judgments", "failed")
    MISSING: ClassVar[tuple[str, ...]] = ("without_verdict", "failed")
    HIDDEN: ClassVar[frozenset[str]] = frozenset({"failed_games"})

    items: int = 0
    judgments: int = 0
    without_verdict: int = 0
    failed: int = 0
    by_judge: dict[str, JudgeCount] = field(default_factory=dict)
    no_verdict: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    failed_games: list[dict[str, Any]] = field(default_factory=list)
    combined: int | None = None

    def add(self, game: Game | Grading) -> None:
        """Counts one game or grading."""
        count = self.by_judge.setdefault(game.judge, JudgeCount())
        self.cached_calls += game.spent.cached_calls
        if game.failure is not None and not was_asked(game):
            count.failed += 1
            self.failed += 1
            self.failures[game.failure.kind.value] += 1
            name = game_id(game.item, game.judge, game.order)
            self.failed_games.append({"judgment_id": name, **game.failure.model_dump(mode="json")})
            return
        self.judgments += 1
        if game.verdict is None:
            count.no_verdict += 1
            self.without_verdict += 1
            self.no_verdict[game.failure.kind.value if game.failure else "unknown"] += 1
        elif isinstance(game, Grading):
            count.grades += 1
        elif game.verdict.is_tie:
            count.ties += 1
        else:
            count.preferences += 1

    @property
    def counts(self) -> RunCounts:
        """What the exit code depends on: a judge that could not be asked is a failure, an unusable reply is not."""
        return RunCounts(self.end, self.items, self.failed, self.without_verdict, self.bad_lines)


@dataclass(slots=True)
class Judged:
    """What judges gave.

    Attributes:
        games: every game or grading in the order of the input: item by item, judge by judge; failed ones included.
        combined: one record for each pair and judge, where a rule was given and both games are there.
        totals: counts, calls and cost of the run; None for :func:`judge_item` and :func:`grade_item`.
    """

    games: list[Game | Grading] = field(default_factory=list)
    combined: list[Judgment] = field(default_factory=list)
    totals: JudgeTotals | None = None

    @property
    def judgments(self) -> list[Judgment]:
        """The records, as ``metajudge vet`` reads them: of every game in which the judge could be asked."""
        return [judgment_of(game) for game in self.games if was_asked(game)]

    @property
    def failed(self) -> list[Game | Grading]:
        """Games in which the judge could not be asked: no record is made of them, and asking again may help."""
        return [game for game in self.games if not was_asked(game)]


def was_asked(game: Game | Grading) -> bool:
    """Whether the judge replied at all, even with an unusable reply."""
    return game.failure is None or game.replied


@dataclass(frozen=True, slots=True)
class _Assignment:
    """One game to be played, or one response to be graded; ``request`` makes the first request that is sent."""

    judge: str
    play: Callable[[], Coroutine[Any, Any, Game | Grading]]
    request: Callable[[], ModelRequest]


async def judge_items(
    session: Session,
    items: Iterable[ItemLike],
    *,
    orders: Orders = "both",
    with_reference: bool = False,
    rule: Rule | None = None,
    judges: Respondents | None = None,
    totals: JudgeTotals | None = None,
    stop: Stop | None = None,
    on_game: Callable[[int, Game | Grading], None] | None = None,
    on_combined: Callable[[int, Judgment], None] | None = None,
) -> Judged:
    """Has every judge compare the two responses of every item; an interrupted run continues from the stored replies.

    The names of an item's ``models`` are hidden in what judges read.

    Args:
        session: open.
        items: with two responses each, or plain data of the same shape; read lazily.
        orders: show each pair in both orders, as two games, or as given.
        with_reference: judges see an item's reference answer.
        rule: combine the two games of a pair to one verdict as well; see :func:`metajudge.judging.records.combine`.
        judges: None for the session's own agents.
        totals: counted into as games end, for progress displays.
        stop: lets the caller stop the run.
        on_game: called with each finished game and its index in the input; the result then contains no games.
        on_combined: likewise each combined record, with its place.

    Raises:
        ConfigurationError: no judge, or a rule without both orders.
        InputError: an item that is none, or that has another number of responses than two.
    """
    note_unused(session, "judge")
    asked = session.models(judges)
    assignments = _games(asked, items, orders, with_reference, rule)
    return await _run(session, asked, assignments, rule, totals, stop, on_game, on_combined)


async def grade_items(
    session: Session,
    items: Iterable[ItemLike],
    *,
    with_reference: bool = False,
    judges: Respondents | None = None,
    totals: JudgeTotals | None = None,
    stop: Stop | None = None,
    on_game: Callable[[int, Game | Grading], None] | None = None,
) -> Judged:
    """Has every judge grade every response of every item alone, from 1 to 10; see :func:`judge_items`."""
    note_unused(session, "judge --grade")
    asked = session.models(judges)
    return await _run(session, asked, _gradings(asked, items, with_reference), None, totals, stop, on_game, None)


async def judge_item(
    session: Session,
    item: ItemLike,
    *,
    orders: Orders = "both",
    with_reference: bool = False,
    rule: Rule | None = None,
    judges: Respondents | None = None,
) -> Judged:
    """Has every judge compare the two responses of one item, within a longer session; no run is recorded.

    The prompts and records are those of :func:`judge_items`.

    Raises:
        BudgetExceeded: the budget is spent.
        ConfigurationError, InputError: as for :func:`judge_items`.
    """
    return await _at_once(_games(session.models(judges), [item], orders, with_reference, rule), rule)


async def grade_item(
    session: Session, item: ItemLike, *, with_reference: bool = False, judges: Respondents | None = None
) -> Judged:
    """Has every judge grade every response of one item, within a longer session; see :func:`judge_item`."""
    return await _at_once(_gradings(session.models(judges), [item], with_reference), None)


def _games(
    judges: Sequence[Respondent],
    items: Iterable[ItemLike],
    orders: Orders,
    with_reference: bool,
    rule: Rule | None = None,
) -> Iterator[_Assignment]:
    """All games, item by item, so that prompts of one item follow each other."""
    if rule is not None and orders != "both":
        raise ConfigurationError("a rule combines the games of both orders: show each pair in both")
    asked = _seated(PairwiseJudge, judges, with_reference)

    def games() -> Iterator[_Assignment]:
        for item in _items(items):
            if len(item.responses) != 2:
                raise InputError(
                    f"item {item.id!r} has {len(item.responses)} responses, and two are compared: grade them, or rank "
                    "them with a clash"
                )
            problem = item.label_problem(2)
            if problem is not None:
                raise InputError(f"item {item.id!r}: {problem}")
            for judge in asked:
                for order in orders_of(item, orders):
                    yield _Assignment(
                        judge.name, partial(judge.compare, item, order), partial(judge.request, item, order)
                    )

    return games()


def _gradings(judges: Sequence[Respondent], items: Iterable[ItemLike], with_reference: bool) -> Iterator[_Assignment]:
    asked = _seated(GradingJudge, judges, with_reference)
    return (
        _Assignment(judge.name, partial(judge.grade, item, name), partial(judge.request, item, name))
        for item in _items(items)
        for judge in asked
        for name in item.responses
    )


def _seated(kind: type[J], judges: Sequence[Respondent], with_reference: bool) -> list[J]:
    return [
        kind(one.name, one.model, one.parameters, with_reference, prompt_version=one.prompt_version) for one in judges
    ]


def _items(items: Iterable[ItemLike]) -> Iterator[Item]:
    return (as_record(one, Item, f"item {number}") for number, one in enumerate(items, start=1))


async def _run(
    session: Session,
    judges: Sequence[Respondent],
    assignments: Iterable[_Assignment],
    rule: Rule | None,
    totals: JudgeTotals | None,
    stop: Stop | None,
    on_game: Callable[[int, Game | Grading], None] | None,
    on_combined: Callable[[int, Judgment], None] | None,
) -> Judged:
    totals = totals or JudgeTotals()
    totals.by_judge = {one.name: JudgeCount() for one in judges}
    games: dict[int, Game | Grading] = {}
    combined: dict[int, Judgment] = {}
    waiting: dict[int, Game] = {}  # games whose other order, the neighbour in the input, has not ended yet
    take, take_combined = on_game or games.__setitem__, on_combined or combined.__setitem__
    if rule is not None:
        totals.combined = 0

    def finished(job: Job[_Assignment, Game | Grading], game: Game | Grading, _settled: bool) -> None:
        totals.add(game)
        take(job.index, game)
        if rule is None or not isinstance(game, Game):
            return
        waiting[job.index] = game
        if job.index ^ 1 not in waiting:
            return
        pair = [waiting.pop(job.index & ~1), waiting.pop(job.index | 1)]
        if all(map(was_asked, pair)):
            take_combined(job.index // 2, combined_judgment(pair, rule))
            totals.combined = (totals.combined or 0) + 1

    async with session.recording(totals, stop):
        totals.end = await run_all(
            assignments,
            lambda job: job.record.play(),
            finished=finished,
            workers=session.workers,
            stop=stop,
            grace_s=session.grace_s,
        )
    return Judged([games[index] for index in sorted(games)], [combined[index] for index in sorted(combined)], totals)


async def _at_once(assignments: Iterable[_Assignment], rule: Rule | None) -> Judged:
    games = await all_of(one.play() for one in assignments)
    played = [one for one in games if isinstance(one, Game)] if rule is not None else []
    pairs = [pair for pair in zip(played[::2], played[1::2], strict=True) if all(map(was_asked, pair))]
    return Judged(games, [combined_judgment(pair, rule) for pair in pairs if rule is not None])


def estimate_judging(
    config: PanelConfig,
    items: Iterable[Item],
    orders: Orders = "both",
    *,
    grade: bool = False,
    with_reference: bool = False,
) -> Estimate:
    """What it takes to have agents compare pairs of responses, or grade each response alone.

    Raises:
        ConfigurationError: agents that make no sense together (no key is needed).
    """
    judges = Session.for_estimate(config).models()
    prices = prices_of(config.agents)
    estimate = Estimate.at(prices)
    for one in _gradings(judges, items, with_reference) if grade else _games(judges, items, orders, with_reference):
        estimate.judgments += 1
        estimate.add(one.judge, prices, size_of(one.request()), REASONING_TOKENS)
    return estimate
