"""Outcomes in a large store: what the first reading, one decision more, an idle look and a start cost.

    python -m metajudge.benchmarks.outcome_events [POSTGRES_URL] [--decisions 1000000] [--json OUT]

Without a URL a DuckDB file in a temporary folder; with one a schema of its own on that PostgreSQL server, which is
dropped in the end. One judgment is vetted and decided through the store; its rows are then copied under other ids by
the database, so that the store has so many decisions of a policy and no outcome yet. Measured, in this order:

- first: all decisions become outcomes (``collect_all``), as at the first start of a later version;
- event: one decision more becomes an outcome; the median of several;
- idle: a look that finds nothing; the median of several. A service looks every second;
- page, counts: the newest outcomes and their counts, as the page ``/outcomes`` reads them;
- start: the store is opened anew and one decision more becomes an outcome.

Seconds of processor time are this process's, in which DuckDB runs; PostgreSQL's own are not counted, so wall seconds
stand beside them. Memory is the most this process held at the end of a step.
"""

import asyncio
import contextlib
import json
import os
import platform
import resource
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from metajudge.store import Store, open_store
from metajudge.store.gaps import rows_of
from metajudge.types import Assessment, Judgment
from metajudge.types.decision import Action, Decision, DecisionInputs
from metajudge.types.location import store_location

SEVERAL = 20
POLICY = "verdict_score"
_COPIED = {
    "assessments": {
        "assessment_id": "a.assessment_id + n * 2",
        "key_hash": "n",
        "key": "'k' || n",
        "judgment_digest": "md5('j' || n)",
        "judgment_id": "'j' || n",
        "item_id": "'i' || (n % 200000)",
        "payload": "'{}'",
    },
    "annotations": {"annotation_id": "a.annotation_id + n * 2", "assessment_id": "a.assessment_id + n * 2"},
}
"""Table -> column -> what a copy has there instead of the first row's value."""


def main(
    postgres_url: Annotated[str | None, typer.Argument(metavar="POSTGRES_URL")] = None,
    decisions: int = 1_000_000,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Measures and prints."""
    with _place(postgres_url) as location:
        found = asyncio.run(measure(location, decisions))
    text = json.dumps(found, indent=2)
    sys.stdout.write(text + "\n")
    if out is not None:
        out.write_text(text + "\n")


async def measure(location: str, decisions: int) -> dict[str, Any]:
    """Fills the store at a location and measures each step.

    Args:
        decisions: of a policy, in the store before the first reading; at least 1.
    """
    store = await _opened(location)
    await _decide(store, 0)
    await store.close()
    _copy(location, decisions - 1)
    store = await _opened(location)
    steps: dict[str, Any] = {}
    looked_at = 0

    async def first() -> None:
        nonlocal looked_at
        looked_at = await store.outcomes.collect_all()

    steps["first"] = await _timed(first)
    steps["first"]["decisions"] = looked_at
    steps["event"] = await _several(lambda number: _event(store, number))
    steps["idle"] = await _several(lambda _number: store.outcomes.collect())
    steps["page"] = await _several(lambda _number: store.outcomes.page())
    steps["counts"] = await _several(lambda _number: store.outcomes.counts(), times=3)
    await store.close()

    async def start() -> None:
        nonlocal store
        store = await _opened(location)
        await _event(store, 10 * SEVERAL)

    steps["start"] = await _timed(start)
    await store.close()
    return {
        "database": "PostgreSQL" if "://" in location else "DuckDB",
        "machine": f"{os.cpu_count()} CPUs, Python {platform.python_version()}",
        "decisions": decisions,
        **steps,
    }


async def _opened(location: str) -> Store:
    return await open_store(store_location(location))


async def _decide(store: Store, number: int) -> None:
    """Saves an assessment with a policy's decision."""
    judgment = Judgment.model_validate(
        {
            "id": f"own-{number}",
            "item": {"id": f"own-{number}", "question": "Which?", "responses": {"A": "x", "B": "y"}},
            "judge": "owl",
            "verdict": "A>B",
        }
    )
    inputs = DecisionInputs(basis="score", value=3.0, confidence=0.6, confidence_rule="same_side")
    decision = Decision(
        action=Action.REVIEW,
        policy=POLICY,
        policy_digest="d" * 64,
        justification="doubtful: the score is in the middle band",
        inputs=inputs,
        band=1,
        margin=0.2,
    )
    assessment = Assessment.model_validate(
        {
            "judgment_id": judgment.id,
            "item_id": judgment.item.id,
            "judge": judgment.judge,
            "status": "assessed",
            "final_score": 3.0,
            "accepted": False,
            "decision": decision,
            "strategy": "single",
            "threshold": 4.5,
            "panel_digest": "p" * 64,
            "judgment_digest": judgment.digest,
            "metajudge_version": "0",
        }
    )
    await store.save_assessment(f"own key {number}", judgment, assessment, "made")


async def _event(store: Store, number: int) -> None:
    await _decide(store, number + 1)
    if not await store.outcomes.collect():
        raise RuntimeError("the decision became no outcome")


def _copy(location: str, count: int) -> None:
    """Copies the rows of the first decision in the database, past the store."""
    if "://" in location:
        import psycopg

        with psycopg.connect(location, autocommit=True) as connection:
            for table, changed in _COPIED.items():
                rows = connection.execute(
                    "SELECT column_name FROM information_schema.columns "
                    "WHERE table_schema = current_schema() AND table_name = %s ORDER BY ordinal_position",
                    [table],
                ).fetchall()
                columns = [name for (name,) in rows]
                numbered = f"generate_series(1, {count}) AS made(n)"
                connection.execute(_insertion(table, columns, changed, numbered).encode())
                connection.execute(
                    f"SELECT setval(pg_get_serial_sequence('{table}', '{columns[0]}'), {2 * count + 10})".encode()
                )
            connection.execute(b"ANALYZE")
        return
    import duckdb

    with duckdb.connect(location) as connection:
        for table, changed in _COPIED.items():
            columns = [row[0] for row in connection.execute(f"DESCRIBE {table}").fetchall()]
            made = f"range(1, {count} + 1) AS made(n)"
            connection.execute(_insertion(table, columns, changed, made, into=rows_of(table)))


def _insertion(table: str, columns: list[str], changed: dict[str, str], numbered: str, into: str = "") -> str:
    values = ", ".join(changed.get(name, f"a.{name}") for name in columns)
    first = f"(SELECT * FROM {table} LIMIT 1)"
    return f"INSERT INTO {into or table} ({', '.join(columns)}) SELECT {values} FROM {first} a, {numbered}"


async def _timed(step: Callable[[], Awaitable[Any]]) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    await step()
    return {
        "cpu_s": round(time.process_time() - cpu, 4),
        "wall_s": round(time.perf_counter() - wall, 4),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


async def _several(step: Callable[[int], Awaitable[Any]], times: int = SEVERAL) -> dict[str, float]:
    found = [await _timed(lambda number=number: step(number)) for number in range(times)]  # type: ignore[misc]
    return {name: median(one[name] for one in found) for name in ("cpu_s", "wall_s", "peak_mb")}


@contextlib.contextmanager
def _place(postgres_url: str | None) -> Iterator[str]:
    """Where the store is; what was made for it is gone afterwards."""
    if postgres_url is None:
        with tempfile.TemporaryDirectory() as scratch:
            yield str(Path(scratch) / "s.duckdb")
        return
    import psycopg

    schema = f"outcome_events_{uuid.uuid4().hex[:12]}"
    try:
        yield f"{postgres_url}{'&' if '?' in postgres_url else '?'}options=-csearch_path%3D{schema}"
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())


if __name__ == "__main__":
    typer.run(main)
