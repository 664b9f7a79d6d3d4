"""The asynchronous API for scripts and notebooks: the same calls, which return when the work is done."""

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from metajudge.errors import BudgetExceeded
from metajudge.readers.in_memory import JudgmentLike
from metajudge.runs.loop import RunEnd
from metajudge.session import Agents
from metajudge.types import Assessment, Judgment
from metajudge.vetting.engine import Engine

T = TypeVar("T")


def vet(judgments: JudgmentLike | Iterable[JudgmentLike], agents: Agents = (), **options: Any) -> Any:
    """Vets one judgment or several; returns an :class:`Assessment`, or a list in the same order.

    Works in notebooks, too. Inside an ``async`` function it would keep the event loop waiting: use
    :class:`~metajudge.vetting.engine.Engine` there.

    Args:
        judgments: :class:`Judgment` objects or plain data of the same shape.
        agents: as for :class:`~metajudge.vetting.engine.Engine`; none weighs free evidence alone.
        options: as for :class:`~metajudge.vetting.engine.Engine`.

    Raises:
        InputError: data that is no judgment; the message names its place and the fields at fault.
        MetajudgeError: see :mod:`metajudge.errors`.
    """
    if isinstance(judgments, Judgment | Mapping):
        return run(_vet_list([judgments], agents, options))[0]
    return run(_vet_list(list(judgments), agents, options))


async def _vet_list(records: Sequence[JudgmentLike], agents: Agents, options: Mapping[str, Any]) -> list[Assessment]:
    results: dict[int, Assessment] = {}
    async with Engine(agents, **options) as engine:
        summary = await engine.vet_all(records, on_result=lambda index, _, result: results.update({index: result}))
    if summary.end is RunEnd.BUDGET:
        raise BudgetExceeded(f"the budget was reached after {len(results)} of {len(records)} judgments")
    return [results[index] for index in range(len(records))]


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
