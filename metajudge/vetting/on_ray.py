"""Vetting on Ray Data: workers do the engine's own steps on blocks of judgments.

The driver reads the input and works out what depends on all of it: rules, copies among judges, what a calibration says.
For free evidence Ray brings the judgments of each item together (``groupby``); else blocks are mapped as they are
(``map_batches``). Results, calls, limits and the budget are in a PostgreSQL store: Ray gives the block of a killed
worker to another one, which finds there what was answered. A block's results come to the driver once, at its end.
"""

import asyncio
import contextlib
import logging
import os
import pickle
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from metajudge.concurrency import off_the_loop
from metajudge.errors import ConfigurationError, MetajudgeError, WorkerError
from metajudge.installation import install_command
from metajudge.providers.budget import Amount, Budget
from metajudge.providers.metering import Meter
from metajudge.providers.shared_budget import SharedBudget
from metajudge.reading.jsonl import JudgmentLines
from metajudge.runs.loop import BLOCK, RunEnd, Stop
from metajudge.store import Store, open_store
from metajudge.store.limits import StoredLimits
from metajudge.strategies import StrategyName
from metajudge.types.location import PostgresUrl
from metajudge.vetting.annotating import Block
from metajudge.vetting.answer import describe_input
from metajudge.vetting.blocks import Rows, Vetting
from metajudge.vetting.engine import Engine
from metajudge.vetting.intake import READ_AT_ONCE, Intake
from metajudge.vetting.outcomes import Whole, of_judges, outcomes_of
from metajudge.vetting.results import Alike, Results
from metajudge.vetting.summary import VetSummary
from metajudge.vetting.texts import LineTexts

if TYPE_CHECKING:
    import pyarrow as pa

    from metajudge.evidence.rewards import RewardScore

WEIGHED_AT_ONCE: Final = 4 * READ_AT_ONCE
"""Judgments in a block where no model is asked."""
_OF_WORKERS: Final = ("allow_other_calibration", "audit_share", "reviewers", "right", "concurrency", "command")
_CLUSTER: Final = "RAY_ADDRESS"
_KILLED: Final = "a worker was killed: the answers it got are kept, but calls, tokens and cost are lower bounds"


class RayEngine(Engine):
    """An engine whose blocks are vetted by workers of Ray: on this machine, or on the cluster of ``RAY_ADDRESS``.

    Args:
        workers: blocks vetted at the same time.
        given: arguments of :class:`~metajudge.vetting.engine.Engine`.

    Raises:
        ConfigurationError: Ray is not installed, or an argument that workers cannot keep.
    """

    def __init__(self, *, workers: int = 2, **given: Any) -> None:
        super().__init__(**given)
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        try:
            import ray  # noqa: F401
        except ImportError:
            raise ConfigurationError(f"--engine ray needs Ray: {install_command('ray')}") from None
        for refused, why in (
            (not isinstance(self._store_given, PostgresUrl), "works over PostgreSQL: give --store postgresql://..."),
            (self._batch is not None, "asks live: leave out --batch"),
            (isinstance(self._budget, SharedBudget), "keeps a run's budget in the store: leave out --budget-file"),
            (bool(self.objects), "asks models that its workers can open: name them as PROVIDER:MODEL"),
        ):
            if refused:
                raise ConfigurationError(f"--engine ray {why}")
        self._blocks_at_once, self._whole = workers, cast("Whole | None", None)
        self._failed: MetajudgeError | None = None
        self._given = {name: given[name] for name in _OF_WORKERS if name in given}

    async def _weigh(
        self, vetting: Vetting, table: Intake, rewards: "Iterable[RewardScore] | None", summary: VetSummary
    ) -> Rows:
        facts, wanted = table.facts, np.isin(np.arange(len(table.facts)), table.wanted)
        if any(one.strategy is StrategyName.SIGNALS for one in self.vetter.panels):
            self._whole = await off_the_loop(lambda: of_judges(facts, self._right), table.characters)
            summary.describe_evidence(*self._whole[:2])
        describe_input(summary, table)
        own = await self.finishing.own_fit(table, self.vetter, self._right)
        if own is None:
            self.finishing.say_without_labels(self.note)
        self.finishing.describe(summary, own)
        fitted = None if own is None else own.calibration
        vetting.probabilities = await off_the_loop(
            lambda: self.finishing.probabilities(facts, self.vetter, wanted=wanted, rewards=rewards, own=fitted),
            table.characters,
        )
        if vetting.probabilities is None and self._whole is not None and self.finishing.history is not None:
            vetting.probabilities = await self.finishing.history.of(table)
        return table.wanted

    async def _vet_elsewhere(
        self, vetting: Vetting, table: Intake, taken: Callable[[Block, Alike], None], stop: Stop, *, each: bool
    ) -> RunEnd:
        import ray

        own = {"panel": self.vetting_config, "calibration": self.calibration, "policy": self.policy}
        plan = Plan(
            run_id=self.run_id,
            store=cast("PostgresUrl", self._store_given),
            whole=self._whole,
            engine=self._given | own | {"shared_limits": True},
            limits={name: getattr(self._budget, name) for name in ("usd", "calls", "tokens")},
            readers=table.texts.readers if isinstance(table.texts, LineTexts) and _CLUSTER not in os.environ else (),
            keep_failures=vetting.keep_failures,
            each=each,
        )
        leaving: list[asyncio.Task[None]] = []
        stop.on_ask(lambda _end: leaving.append(asyncio.ensure_future(self._leave())))
        found = _mapped(plan, vetting, table, self._blocks_at_once)
        try:
            with contextlib.redirect_stdout(sys.stderr):  # where Ray reports that a worker died
                while (done := await asyncio.to_thread(next, found, None)) is not None:
                    self._take(done, taken, stop)
        except MetajudgeError:
            raise
        except Exception as error:
            if not leaving:
                last = (str(error).strip() or type(error).__name__).splitlines()[-1]
                raise WorkerError(f"Ray gave up: {last}. Run the same command again: what is done is kept") from error
        finally:
            for task in leaving:
                task.cancel()
            await asyncio.to_thread(ray.shutdown)
        if self._failed is not None:
            raise self._failed
        return stop.end

    async def _leave(self) -> None:
        """Lets workers end their calls in flight; then leaves Ray, which gives no results any more."""
        import ray

        limits = cast("Store", self._store).limits
        await limits.with_row(f"run {self.run_id}", lambda data, _: (data | {"stop": True}, None))
        await asyncio.sleep(self.grace_s + 2)
        await asyncio.to_thread(ray.shutdown)

    def _take(self, done: "Done", taken: Callable[[Block, Alike], None], stop: Stop) -> None:
        """Takes what a block came to; where it failed, the others end their calls in flight."""
        self.meter.include(done.meter)
        self.meter.unpriced += done.again and bool(self.vetting_config.agents)
        self.finishing.opened += done.reviews
        for notice in (*done.notices, *[_KILLED] * done.again):
            self.note(notice)
        for block, alike in done.blocks:
            taken(block, alike)
        self._failed = self._failed or done.error
        if done.end is not RunEnd.FINISHED:
            stop.ask(done.end)


def _mapped(plan: "Plan", vetting: Vetting, table: Intake, workers: int) -> "Iterator[Done]":
    """Starts Ray, and gives what became of each block, as they end."""
    import ray

    own: Any = {"address": "local", "num_cpus": workers, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    ray.init(**({} if _CLUSTER in os.environ else own), logging_level=logging.ERROR, log_to_driver=False)
    from ray import data as ray_data

    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # what goes wrong is raised, too
    ray_data.DataContext.get_current().enable_progress_bars = False
    warnings.filterwarnings("ignore", category=UserWarning, module="ray")  # fewer blocks at once than asked for
    tables: list[Any] = [ray.put(block) for block in sent(plan, vetting, table, workers)]
    data, vet = ray_data.from_arrow_refs(tables), cast("Callable[..., Any]", vet_block)
    how: dict[str, Any] = {"fn_args": (plan,), "batch_format": "pyarrow", "max_retries": 3}
    how["compute"] = ray_data.TaskPoolStrategy(size=workers)
    if plan.whole is None:
        found = data.map_batches(vet, batch_size=None, **how)
    else:
        found = data.groupby("share", num_partitions=len(tables)).map_groups(vet, **how)
    for batch in found.iter_batches(batch_size=None, batch_format="pyarrow"):
        for message in cast("pa.Table", batch)["done"].to_pylist():
            yield pickle.loads(message)  # noqa: S301 - of our own workers


def sent(plan: "Plan", vetting: Vetting, table: Intake, workers: int) -> "Iterator[pa.Table]":
    """The rows of an input for Ray: those that are vetted, and with free evidence the others of their items.

    Columns: ``share`` is the number of the block, which has whole items with free evidence, and else is a table here;
    ``row`` and ``place`` are those in the input and among the wanted, -1 for evidence alone; ``text`` is the judgment,
    or the place of its line; ``said`` is what a calibration says of the block, in one of its rows.
    """
    import pyarrow as pa

    facts, texts, rows, said = table.facts, table.texts, table.wanted, vetting.probabilities
    place = np.full(len(facts), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    asks = any(one.strategy is not StrategyName.SIGNALS for one in vetting.vetter.panels)
    size = min(BLOCK, 1 + len(rows) // (4 * workers)) if asks else WEIGHED_AT_ONCE
    shares = np.arange(len(rows)) // size
    if plan.whole is not None:
        rows = np.flatnonzero(np.isin(facts.item, facts.item[rows]))
        before = np.cumsum(np.bincount(facts.item[rows], minlength=len(facts.items)))
        shares = before[facts.item[rows]] // size
    numbers = np.unique(shares).tolist()
    parts = {one: pickle.dumps(said.of_rows(rows[shares == one])) for one in numbers} if said is not None else {}
    text: Callable[[int], Any] = texts.place if plan.readers and isinstance(texts, LineTexts) else texts.judgment
    for start in range(0, len(rows), size):
        some, of = rows[start : start + size], shares[start : start + size]
        found = {
            "text": map(pickle.dumps, map(text, some.tolist())),
            "said": [parts.pop(one, None) for one in of.tolist()],
        }
        columns = {name: pa.array(values, pa.binary()) for name, values in found.items()}
        yield pa.table({"share": of, "row": some, "place": place[some]} | columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What all blocks of a run share.

    Attributes:
        engine: arguments of the worker's engine but for store and budget.
        limits: arguments of the budget.
        readers: of the lines whose places are sent; none where judgments are sent.
        each: whether every assessment is looked at, and not their kinds alone.
    """

    run_id: str
    store: PostgresUrl
    whole: Whole | None
    engine: Mapping[str, Any]
    limits: Mapping[str, Any]
    readers: Sequence[JudgmentLines]
    keep_failures: bool
    each: bool


@dataclass(slots=True)
class Done:
    """What became of a block; ``again``: it was begun before, by a worker that was killed."""

    blocks: list[tuple[Block, Alike]] = field(default_factory=list)
    end: RunEnd = RunEnd.FINISHED
    meter: Meter = field(default_factory=Meter)
    notices: tuple[str, ...] = ()
    reviews: int = 0
    error: MetajudgeError | None = None
    again: bool = False


def vet_block(rows: "pa.Table", plan: Plan) -> "pa.Table":
    """Vets a block of what :func:`sent` gives, in any order, in a worker; gives one row, with :class:`Done`."""
    import pyarrow as pa

    done = Done()
    try:
        asyncio.run(_vet(plan, rows.sort_by("row"), done))
    except MetajudgeError as error:
        done.error = error
    except Exception as error:  # of which Ray would tell in words of its own
        done.error = WorkerError(f"a block of judgments failed in a worker of Ray: {type(error).__name__}: {error}")
        done.error.add_note(traceback.format_exc())
    done.end = done.end if done.error is None else RunEnd.FAILED
    return pa.table({"done": [pickle.dumps(done)]})


async def _vet(plan: Plan, rows: "pa.Table", done: Done) -> None:
    judgments = [pickle.loads(text) for text in rows["text"].to_pylist()]  # noqa: S301 - of our own driver
    if plan.readers:
        with contextlib.closing(LineTexts(plan.readers)) as lines:
            for place in judgments:
                lines.add(*place)
            judgments = [lines.judgment(at) for at in range(len(judgments))]
    async with contextlib.AsyncExitStack() as stack:
        stop, summary, store = Stop(), VetSummary(), await open_store(plan.store)
        stack.push_async_callback(store.close)
        budget = StoredBudget(plan, store.limits, str(rows["share"][0]))
        done.again = await budget.begin()
        stack.callback(asyncio.create_task(budget.listen(stop)).cancel)
        async with _Worker(plan, rows, store=store, budget=budget, **plan.engine) as engine:
            results = _ForDriver(done=done, plan=plan, rows=rows)
            try:
                await engine._vet_records(judgments, results, None, None, plan.keep_failures, stop, summary)
                await engine.finishing.open_reviews()
            finally:
                done.meter, done.notices, done.reviews = engine.meter, engine.notices, engine.finishing.opened
        done.end = summary.end
        await budget.end()


class _Worker(Engine):
    """Vets a block by what the whole input says."""

    def __init__(self, plan: Plan, rows: "pa.Table", **given: Any) -> None:
        super().__init__(**given)
        self.run_id, self._joined, self._plan, self._rows = plan.run_id, True, plan, rows

    async def _weigh(self, vetting: Vetting, table: Intake, _rewards: object, _summary: VetSummary) -> Rows:
        wanted = np.flatnonzero(self._rows["place"].to_numpy() >= 0)
        if self._plan.whole is not None:
            vetting.evidence = outcomes_of(table.facts, self.vetter.panel_of, None, wanted, whole=self._plan.whole)
        for said in self._rows["said"].drop_null().to_pylist():
            vetting.probabilities = pickle.loads(said)  # noqa: S301 - of our own driver
        return wanted


@dataclass(slots=True, kw_only=True)
class _ForDriver(Results):
    """Keeps results with the places and rows of the whole input."""

    done: Done
    plan: Plan
    rows: "pa.Table"

    def expect_blocks(self, intake: Intake) -> Callable[[Block, Alike], None]:
        place, row = (self.rows[name].to_numpy() for name in ("place", "row"))

        def take(block: Block, alike: Alike) -> None:
            found = block.assessments if self.plan.each or block.reused else ()
            at = {"places": place[block.rows].tolist(), "rows": row[block.rows]}
            self.done.blocks.append((replace(block, **at, assessments=found, judgments=None), alike))

        return take


class StoredBudget(Budget):
    """The limits of one run for all its workers; see :class:`~metajudge.providers.budget.Budget`.

    The book is a row of the store. What a block has set aside is kept under its name: where a block begins again, its
    worker was killed, and its calls in flight count as spent, as they may have been answered and billed.
    """

    def __init__(self, plan: Plan, keeper: StoredLimits, block: str) -> None:
        super().__init__(**plan.limits)
        self._keeper, self._row, self._block = keeper, f"run {plan.run_id}", block
        self._settling: set[asyncio.Task[Amount | None]] = set()

    async def begin(self) -> bool:
        """Begins the block; returns whether it was begun before."""

        def begin(data: dict[str, Any], _now: float) -> tuple[dict[str, Any], bool]:
            held = data.get("held", {})
            spent = Amount(*data.get("spent", ())) + Amount(*held.get(self._block, ()))
            return data | {"spent": astuple(spent), "held": held | {self._block: ()}}, self._block in held

        return await self._keeper.with_row(self._row, begin)

    async def _set_aside(self, amount: Amount) -> bool:
        if (spent := await self._change(amount, Amount())) is not None:
            self.check(amount, spent)
        return spent is None

    async def _wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def settle(self, reserved: Amount, spent: Amount) -> None:
        """Replaces a reservation by what the call took; :meth:`end` waits until the store knows."""
        task = asyncio.get_running_loop().create_task(self._change(Amount() - reserved, spent))
        self._settling.add(task)
        task.add_done_callback(self._settled)

    def _settled(self, task: "asyncio.Task[Amount | None]") -> None:
        if task.cancelled() or task.exception() is None:
            self._settling.discard(task)  # one that failed is kept for :meth:`end` to raise

    async def end(self) -> None:
        """Ends the block, once the store knows what its calls took."""
        await asyncio.gather(*self._settling)
        await self._keeper.with_row(self._row, lambda data, _: (data, data["held"].pop(self._block)))

    async def listen(self, stop: Stop) -> None:
        """Stops the block once the run is to stop."""
        while not await self._keeper.with_row(self._row, lambda data, _: (data, data.get("stop"))):  # noqa: ASYNC110
            await asyncio.sleep(1.0)
        stop.ask(RunEnd.INTERRUPTED)

    async def _change(self, aside: Amount, spent: Amount) -> Amount | None:
        """Adds to what is set aside and to what is spent; if the limits forbid it, gives what is spent in its place."""

        def changed(data: dict[str, Any], _now: float) -> tuple[dict[str, Any], Amount | None]:
            before, held = Amount(*data["spent"]), {name: Amount(*one) for name, one in data["held"].items()}
            if aside.calls > 0 and not self.fits(sum(held.values(), before + aside)):
                return data, before
            mine = {self._block: astuple(held[self._block] + aside)}
            return data | {"spent": astuple(before + spent), "held": data["held"] | mine}, None

        return await self._keeper.with_row(self._row, changed)
