"""What the search and the start page read from a large store, and how long that takes.

    python -m metajudge.benchmarks.pages_speed [--judgments 20000] [--reviews 1000] [--json OUT]

Fills a DuckDB file in a temporary folder with made-up judgments, each with 3 kB of texts, and with open reviews of some
of them. Then the queries of ``/search`` are asked for a text that occurs nowhere and for one that occurs in every
record, and those of the start page. Seconds are the median of five, of this process's processor time and by the clock.
"""

import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from metajudge.reviews.opening import review_of
from metajudge.store import Store, browsing, open_store, overview, searching
from metajudge.store.browsing import AssessmentFilter

from .review_keys import NOW, made

TIMES = 5
AT_ONCE = 500
TEXT = "The trains of this line leave every morning and arrive before noon. "
"""Repeated in each record's rationale, up to 3 kB."""


def main(
    judgments: int = 20_000,
    reviews: int = 1_000,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as scratch:
        found = asyncio.run(measure(Path(scratch) / "s.duckdb", judgments, reviews))
    text = json.dumps(found, indent=2)
    sys.stdout.write(text + "\n")
    if out is not None:
        out.write_text(text + "\n")


async def measure(path: Path, judgments: int, reviews: int) -> dict[str, Any]:
    """Fills the store at a path and measures the queries."""
    store = await open_store(path)
    try:
        await _fill(store, judgments, reviews)
        steps: dict[str, Callable[[], Awaitable[Any]]] = {
            "search for what is nowhere": lambda: _search(store, "zzz nowhere"),
            "search for a frequent text": lambda: _search(store, "leave every morning"),
            "start page": lambda: _start(store),
        }
        timed = {name: await _timed(step) for name, step in steps.items()}
    finally:
        await store.close()
    machine = f"{os.cpu_count()} CPUs, Python {platform.python_version()}"
    return {"machine": machine, "judgments": judgments, "reviews": reviews, **timed}


async def _fill(store: Store, judgments: int, reviews: int) -> None:
    for first in range(0, judgments, AT_ONCE):
        async with asyncio.TaskGroup() as group:
            for number in range(first, min(first + AT_ONCE, judgments)):
                group.create_task(_add(store, number, reviewed=number < reviews))


async def _add(store: Store, number: int, *, reviewed: bool) -> None:
    judgment, assessment = made(number)
    judgment = judgment.model_copy(update={"rationale": (TEXT * 50)[:3_000]})
    assessment = assessment.model_copy(update={"judgment_digest": judgment.digest})
    await store.save_assessment(f"key {number}", judgment, assessment, "run-1")
    review = review_of(judgment, assessment, now=NOW + number, scale=(1, 5)) if reviewed else None
    await store.reviews.open([] if review is None else [review])


async def _search(store: Store, text: str) -> None:
    wanted = AssessmentFilter(text=text)
    await store.ask(lambda connection: browsing.page_of_assessments(connection, wanted, limit=20))
    await store.ask(lambda connection: searching.search_reviews(connection, text, limit=20))
    await store.ask(lambda connection: searching.search_cases(connection, text, limit=20))
    await store.ask(lambda connection: overview.decided_clashes(connection, text=text, limit=20))
    await store.ask(lambda connection: searching.search_runs(connection, text, limit=20))


async def _start(store: Store) -> None:
    await store.ask(lambda connection: overview.waiting(connection, "Ada", NOW))
    await store.ask(lambda connection: overview.model_calls(connection, 0.0))
    await store.ask(lambda connection: overview.entries(connection, limit=20))
    await store.ask(lambda connection: overview.judged(connection, 0.0))


async def _timed(step: Callable[[], Awaitable[Any]]) -> dict[str, float]:
    cpu, wall = [], []
    for _ in range(TIMES):
        began, at = time.process_time(), time.perf_counter()
        await step()
        cpu.append(time.process_time() - began)
        wall.append(time.perf_counter() - at)
    return {"cpu_s": round(median(cpu), 3), "wall_s": round(median(wall), 3)}


if __name__ == "__main__":
    typer.run(main)
