"""The asynchronous API for scripts and notebooks: the same calls, which return when the work is done.

They work in notebooks, too. Inside an ``async`` function they would keep the event loop waiting: open a
:class:`~metajudge.session.Session` there, and await the function of the same name.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

from metajudge.decision import DEFAULT_CASE_POLICY, Policy
from metajudge.errors import BatchPendingError, BudgetExceeded
from metajudge.panels.config import PanelConfig
from metajudge.providers.budget import Budget
from metajudge.reading.reasons import ItemLike, JudgmentLike, as_judgment
from metajudge.rubric import Rubric
from metajudge.runs.loop import RunEnd
from metajudge.runs.totals import RunTotals
from metajudge.session import Agents, Session
from metajudge.settings import Settings
from metajudge.store import Store
from metajudge.types import Assessment, Item, Judgment, Right
from metajudge.types.location import StoreLocation

if TYPE_CHECKING:  # a task's own modules are imported when its function is called
    from metajudge.cases.result import CaseResult
    from metajudge.cases.run import CaseLike, Reviewing
    from metajudge.clashes.run import ClashResult
    from metajudge.clashes.setup import ClashSettings, ItemOrQuestion
    from metajudge.judging.judges import Orders
    from metajudge.judging.records import Rule
    from metajudge.judging.run import Judged
    from metajudge.peers.run import PeersResult
    from metajudge.providers.batch_queue import BatchSettings
    from metajudge.reading.questions import Question
    from metajudge.vetting.engine import Engine

T = TypeVar("T")
S = TypeVar("S", bound=Session)


class SessionOptions(TypedDict, total=False):
    """Arguments of :class:`~metajudge.session.Session`, which describes them; ``seed`` has a place of its own."""

    panel: PanelConfig | None
    store: str | StoreLocation | Store | None
    concurrency: int
    budget_usd: float | None
    budget: Budget | None
    batch: "BatchSettings | None"
    settings: Settings | None
    notify: Callable[[str], None] | None
    command: str


@overload
def vet(judgments: JudgmentLike, agents: Agents = (), **options: Any) -> Assessment: ...
@overload
def vet(judgments: Iterable[JudgmentLike] | Path | str, agents: Agents = (), **options: Any) -> list[Assessment]: ...
def vet(
    judgments: JudgmentLike | Iterable[JudgmentLike] | Path | str, agents: Agents = (), **options: Any
) -> Assessment | list[Assessment]:
    """Vets one judgment or several; returns an :class:`Assessment`, or a list in the same order.

    Args:
        judgments: :class:`Judgment` objects or plain data of the same shape; or the path of a file or a folder, a
            DataFrame, a Dataset or an Arrow table, which is read as :func:`metajudge.open_judgments` reads it.
        agents: as for :class:`~metajudge.vetting.engine.Engine`; none weighs free evidence alone.
        options: as for :class:`~metajudge.vetting.engine.Engine`.

    Raises:
        BudgetExceeded: the budget ended before every judgment was vetted.
        InputError: data that is no judgment; the message names its place and the fields at fault.
        MetajudgeError: see :mod:`metajudge.errors`.
    """
    from metajudge.reading.frames import judgments_in
    from metajudge.vetting.engine import Engine

    one = isinstance(judgments, Judgment | Mapping)
    records = [judgments] if isinstance(judgments, Judgment | Mapping) else list(judgments_in(judgments))
    results: dict[int, Assessment] = {}

    async def work(engine: "Engine") -> list[Assessment]:
        summary = await engine.vet_all(records, on_result=lambda index, _, result: results.update({index: result}))
        return _all(results, len(records), summary, "judgments")

    found = _in(Engine(agents, **options), work)
    return found[0] if one else found


def count(
    judgments: Iterable[JudgmentLike], assessments: Iterable[Assessment] = (), *, right: Right | None = None
) -> dict[str, Any]:
    """Counts judgments by what became of them, and how many are right by their labels, with intervals by question.

    Args:
        assessments: of the judgments, in any order; on one without an assessment nothing decided.
        right: what counts as right; None for the default of each kind of verdict.

    Returns:
        ``rows``, ``right`` and ``not_compared``, as ``metajudge vet --json`` prints them under ``counts``.

    Raises:
        InputError: data that is no judgment, or a rule that applies to none of the verdicts.
    """
    from metajudge.evidence.counting import Counts
    from metajudge.reading.right_rules import rules_of

    records, ended = [as_judgment(one) for one in judgments], {one.judgment_id: one for one in assessments}
    counts = Counts(rules_of(records, right))
    for record in records:
        counts.add(record, ended.get(record.id))
    return counts.to_json()


def judge(
    items: ItemLike | Iterable[ItemLike],
    agents: Agents = (),
    *,
    orders: "Orders" = "both",
    with_reference: bool = False,
    rule: "Rule | None" = None,
    seed: int | None = None,
    **session: Unpack[SessionOptions],
) -> "Judged":
    """Has every judge compare the two responses of each item; see :func:`~metajudge.judging.run.judge_items`.

    Args:
        items: one or several, or plain data of the same shape.
        agents: the judges, as for :class:`~metajudge.session.Session`, whose other arguments are taken, too.

    Returns:
        Games and records of all items; ``totals.end`` says whether the budget ended the run.
    """
    from metajudge.judging.run import judge_items

    given = _items(items)
    return _in(
        Session(agents, seed=seed, **session),
        lambda opened: judge_items(opened, given, orders=orders, with_reference=with_reference, rule=rule),
    )


def grade(
    items: ItemLike | Iterable[ItemLike],
    agents: Agents = (),
    *,
    with_reference: bool = False,
    seed: int | None = None,
    **session: Unpack[SessionOptions],
) -> "Judged":
    """Has every judge grade each response alone, from 1 to 10; see :func:`judge`."""
    from metajudge.judging.run import grade_items

    given = _items(items)
    return _in(
        Session(agents, seed=seed, **session), lambda opened: grade_items(opened, given, with_reference=with_reference)
    )


def clash(
    items: "ItemOrQuestion | Iterable[ItemOrQuestion]",
    agents: Agents = (),
    settings: "ClashSettings | None" = None,
    *,
    out: Path | None = None,
    **options: Any,
) -> "ClashResult":
    """Has a blind panel rank the answers to each item; see :func:`metajudge.clashes.run.clash`.

    Args:
        items: one or several: items with responses, or questions for the candidates; plain data, or a prompt.
        agents: the judges, as for :class:`~metajudge.session.Session`.
        options: fields of :class:`~metajudge.clashes.setup.ClashSettings`, such as ``candidates`` and ``seed``, and
            arguments of :class:`~metajudge.session.Session`, such as ``store``.

    Returns:
        The records of all items; ``totals.end`` says whether the budget ended the run.
    """
    from metajudge.clashes.run import clash as run_clash
    from metajudge.reading.questions import Question

    given = [items] if isinstance(items, Item | Question | Mapping | str) else list(items)
    session = {name: options.pop(name) for name in SessionOptions.__annotations__ if name in options}
    return _in(Session(agents, **session), lambda opened: run_clash(opened, given, settings, out=out, **options))


@overload
def judge_case(
    cases: "CaseLike",
    agents: Agents = (),
    *,
    policy: str | Path | Policy = ...,
    rubric: Rubric | None = ...,
    reviewing: "Reviewing | None" = ...,
    seed: int | None = ...,
    **session: Unpack[SessionOptions],
) -> "CaseResult": ...
@overload
def judge_case(
    cases: "Iterable[CaseLike]",
    agents: Agents = (),
    *,
    policy: str | Path | Policy = ...,
    rubric: Rubric | None = ...,
    reviewing: "Reviewing | None" = ...,
    seed: int | None = ...,
    **session: Unpack[SessionOptions],
) -> "list[CaseResult]": ...
def judge_case(
    cases: "CaseLike | Iterable[CaseLike]",
    agents: Agents = (),
    *,
    policy: str | Path | Policy = DEFAULT_CASE_POLICY,
    rubric: Rubric | None = None,
    reviewing: "Reviewing | None" = None,
    seed: int | None = None,
    **session: Unpack[SessionOptions],
) -> "CaseResult | list[CaseResult]":
    """Judges and decides one case, or several; see :func:`metajudge.cases.run.judge_cases`.

    Args:
        cases: one or several, or plain data of the same shape.
        agents: the judges, as for :class:`~metajudge.session.Session`, whose other arguments are taken, too.

    Returns:
        A result, or a list in the same order.

    Raises:
        BudgetExceeded: the budget ended before every case was decided.
        InputError: not a case, or one that the policy cannot judge.
        PolicyError: no such policy, or one for verdicts.
    """
    from metajudge.cases.case import Case
    from metajudge.cases.run import Reviewing, judge_cases

    one = isinstance(cases, Case | Mapping)
    given = [cases] if isinstance(cases, Case | Mapping) else list(cases)
    results: dict[int, CaseResult] = {}

    async def work(opened: Session) -> "list[CaseResult]":
        totals = await judge_cases(
            opened,
            given,
            policy=policy,
            rubric=rubric,
            reviewing=reviewing or Reviewing(),
            on_result=results.__setitem__,
        )
        return _all(results, len(given), totals, "cases")

    found = _in(Session(agents, seed=seed, **session), work)
    return found[0] if one else found


def run_peers(
    questions: "Sequence[Question | Mapping[str, Any] | str]",
    agents: Agents = (),
    *,
    out: Path | None = None,
    seed: int = 0,
    **session: Unpack[SessionOptions],
) -> "PeersResult":
    """Has models answer questions and rank each other's answers; see :func:`metajudge.peers.run.run_peers`.

    Args:
        questions: as objects, plain data or texts.
        agents: at least two models, as for :class:`~metajudge.session.Session`, whose other arguments are taken, too.
        seed: of the orders in which answers are shown; sent to models that take one.

    Returns:
        The ballots, for :func:`metajudge.peers.analyse`; ``totals.end`` says whether the budget ended the run.
    """
    from metajudge.peers.run import run_peers as run_peers_in

    return _in(Session(agents, seed=seed, **session), lambda opened: run_peers_in(opened, questions, out=out))


def _items(items: ItemLike | Iterable[ItemLike]) -> Iterable[ItemLike]:
    return [items] if isinstance(items, Item | Mapping) else items


def _all(results: Mapping[int, T], count: int, totals: RunTotals, noun: str) -> list[T]:
    """The results in input order; an error where the run ended before it had them all."""
    if totals.end is RunEnd.BUDGET:
        raise BudgetExceeded(f"the budget was reached after {len(results)} of {count} {noun}")
    if totals.end is RunEnd.PENDING:
        raise BatchPendingError(f"{len(results)} of {count} {noun} are done. {totals.end.next_step}")
    return [results[index] for index in range(count)]


def _in(session: S, work: Callable[[S], Awaitable[T]]) -> T:
    """Does the work in the session, opened for it alone."""

    async def main() -> T:
        async with session:
            return await work(session)

    return run(main())


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end; on a thread of its own where this one has a running event loop (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="metajudge")
    thread.start()
    try:
        return asyncio.run_coroutine_threadsafe(main, loop).result()
    finally:  # an interrupt comes here while the coroutine still runs
        asyncio.run_coroutine_threadsafe(_wind_down(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _wind_down() -> None:
    """Cancels what still runs, waits for it, and lets go of the loop's generators and threads."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
