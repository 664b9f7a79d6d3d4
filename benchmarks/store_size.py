"""What pages and commands wait for at a store of millions of assessments.

    python -m metajudge.benchmarks.store_size STORE [--assessments 5000000] [--json OUT]

STORE is a file that does not exist yet, or a ``postgresql://`` URL of an empty database. Fills it by blocks (20 judges,
10 judgments an item, short texts, one in ten with a policy's decision, 25 runs), then times each read that a page or a
command makes, by the same functions, best of three. A store that has assessments already is read as it is.
"""

import argparse
import asyncio
import json
import random
import resource
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from metajudge.store import Store, dashboard, labelled, open_store, overview
from metajudge.store.browsing import AssessmentFilter, kept_assessment, names, page_of_assessments
from metajudge.store.bulk import AnnotationRow, Annotations, AssessmentBlock, ItemRow, JudgmentRow
from metajudge.store.fitting import NewestFilter, newest_fitting
from metajudge.store.labelled import Scope
from metajudge.store.protocol import RunRecord
from metajudge.store.sql import Connection
from metajudge.types import digest

from .made_verdicts import made_prose

BLOCK = 20_000
RUNS = 25
JUDGES = 20
AN_ITEM = 10
TEXT = 1_000
"""Characters of a rationale; as many of an item."""

PROSE = made_prose(random.Random(0), 2_000_000)

Timed = Callable[[], Awaitable[Any]]


def rows_of(first: int, count: int, run_id: str) -> tuple[list[ItemRow], list[JudgmentRow], AssessmentBlock]:
    """A block of made assessments: numbers ``first`` to ``first + count - 1``."""
    numbers = range(first, first + count)
    items = [f"item-{n // AN_ITEM}" for n in numbers]
    item_digests = [digest(["item", n // AN_ITEM]) for n in numbers]
    judgments = [digest(["judgment", n]) for n in numbers]
    judges = [f"judge-{(n + n // AN_ITEM * 3) % JUDGES}" for n in numbers]
    scores = [1 + n * 7 % 17 / 4 for n in numbers]
    statuses = ["failed" if n % 997 == 0 else "assessed" for n in numbers]
    kept = [None if status == "failed" else score > 4.5 for status, score in zip(statuses, scores, strict=True)]
    item_rows = [
        ItemRow(
            item_digests[i],
            items[i],
            f"category-{i % 7}",
            _item(first + i),
        )
        for i in range(0, count, AN_ITEM)
    ]
    ids = [f"{item}/{judge}/{n}" for item, judge, n in zip(items, judges, numbers, strict=True)]
    texts = map(_judgment, numbers, ids, judges)
    said = list(map(JudgmentRow, judgments, ids, item_digests, items, judges, texts))
    block = AssessmentBlock(
        run_id,
        [digest(["key", n]) for n in numbers],
        judgments,
        ids,
        items,
        judges,
        statuses,
        [None if status == "failed" else score for status, score in zip(statuses, scores, strict=True)],
        kept,
        ["signals"] * count,
        ["panel-a" if n % 3 else "panel-b" for n in numbers],
        [_assessment(said[i], judgments[i], scores[i], statuses[i], kept[i], n) for i, n in enumerate(numbers)],
        Annotations.of(
            [_annotation(kept[i], n) if n % 2 == 0 and kept[i] is not None else None for i, n in enumerate(numbers)]
        ),
    )
    return item_rows, said, block


def _item(number: int) -> bytes:
    label = {"label": "A>B"} if number // AN_ITEM % 2 == 0 else {}
    text = {"question": f"Which of two? {_passage(number, 700)}", "responses": {"A": "1", "B": _passage(number, 300)}}
    return json.dumps(text | label, separators=(",", ":")).encode()


def _judgment(number: int, name: str, judge: str) -> bytes:
    verdict = "A>B" if number * 7919 % 100 < 60 + number % JUDGES else "B>A"
    values = {"version": 1, "id": name, "judge": judge, "order": ["A", "B"], "verdict": verdict}
    return json.dumps(values | {"rationale": _passage(number, TEXT)}, separators=(",", ":")).encode()


def _passage(number: int, length: int) -> str:
    start = number * 7_919 % (len(PROSE) - length)
    return f"{number}: {PROSE[start : start + length]}"


def _assessment(said: JudgmentRow, judgment: str, score: float, status: str, kept: bool | None, number: int) -> bytes:
    values = {
        "judgment_id": said.judgment_id,
        "item_id": said.item_id,
        "judge": said.judge,
        "status": status,
        "final_score": None if kept is None else score,
        "accepted": kept,
        "signals": {"order": {"value": 1.0, "state": "agree", "detail": "other order: A>B"}},
        "strategy": "signals",
        "threshold": 4.5,
        "panel_digest": "panel-a" if number % 3 else "panel-b",
        "judgment_digest": judgment,
        "metajudge_version": "0.1.0",
    }
    return json.dumps(values, separators=(",", ":")).encode()


def _annotation(kept: bool | None, number: int) -> AnnotationRow:
    """A probability; of one in five a policy's decision too."""
    probability = 0.4 + number * 31 % 600 / 1000
    said: dict[str, Any] = {"probability": probability, "calibrated": True, "calibration": "made"}
    if number % 10:
        values = ("assessed", kept, "made", probability, None, None, None)
        return AnnotationRow(*values, json.dumps(said, sort_keys=True, separators=(",", ":")).encode())
    action = "APPROVE" if kept else "REVIEW"
    said["decision"] = {
        "action": action,
        "band": 1,
        "policy": "verdict",
        "policy_digest": "p1",
        "justification": "made",
        "inputs": {
            "basis": "probability",
            "value": probability,
            "confidence_rule": "none",
            "absent": {"confidence": "made"},
        },
    }
    decided = ("assessed", kept, "made", probability, "verdict", "p1", action)
    return AnnotationRow(*decided, json.dumps(said, sort_keys=True, separators=(",", ":")).encode())


async def fill(store: Store, count: int) -> None:
    """Adds made assessments."""
    for number in range(RUNS):
        first, end = count * number // RUNS, count * (number + 1) // RUNS
        first, end = first - first % AN_ITEM, end - end % AN_ITEM if number < RUNS - 1 else count
        run_id = f"run-{number:02}"
        await store.start_run(RunRecord(run_id, "vet", time.time(), "running", {}))
        for start in range(first, end, BLOCK):
            items, judgments, block = rows_of(start, min(BLOCK, end - start), run_id)
            await store.blocks.keep_texts(items, judgments)
            await store.blocks.append_block(block)
        await store.finish_run(run_id, "finished", time.time(), {"assessed": end - first})


def reads(store: Store, count: int) -> dict[str, Timed]:
    """What is timed, by the name in the table."""
    wanted = {
        "list: newest": AssessmentFilter(),
        "list: judge": AssessmentFilter(judge="judge-5"),
        "list: judge that is not there": AssessmentFilter(judge="nobody"),
        "list: kept": AssessmentFilter(outcome="kept"),
        "list: failed": AssessmentFilter(outcome="failed"),
        "list: decision": AssessmentFilter(decision="REVIEW"),
        "list: panel": AssessmentFilter(panel="panel-b"),
        "list: strategy": AssessmentFilter(strategy="signals"),
        "list: item": AssessmentFilter(item=f"item-{count // AN_ITEM // 3}"),
        "list: oldest run": AssessmentFilter(run="run-00"),
        "list: period before all": AssessmentFilter(until=1.0),
    }
    found: dict[str, Timed] = {
        name: partial(store.ask, partial(page_of_assessments, wanted=one, limit=50)) for name, one in wanted.items()
    }
    middle = partial(page_of_assessments, wanted=AssessmentFilter(), limit=50, before=count // 2)
    found["list: page in the middle"] = partial(store.ask, middle)
    found["list: names of the filters"] = partial(store.ask, names)
    found["list: frequent text"] = partial(
        store.ask, partial(page_of_assessments, wanted=AssessmentFilter(text="Which of"), limit=50)
    )
    found["one assessment"] = partial(store.ask, partial(kept_assessment, number=count // 2))
    found["API: page by judge"] = partial(
        store.ask, partial(newest_fitting, wanted=NewestFilter(judge="judge-1"), after=0, limit=100)
    )
    found["`show` a judgment"] = partial(store.show, rows_of(count // 2, AN_ITEM, "")[1][0].judgment_id)
    found["`show` an item"] = partial(store.show, f"item-{count // AN_ITEM // 2}")
    found["`runs`"] = store.runs
    scope = Scope(0.0, "panel-a", {}, "all")
    queries: dict[str, Callable[[Connection], Any]] = {
        "panels": partial(dashboard.panels, since=0.0),
        "outcomes by day": partial(dashboard.outcomes_by_day, since=0.0),
        "decisions by day": partial(dashboard.actions_by_day, since=0.0, panel="panel-a"),
        "judges": partial(dashboard.judges, since=0.0),
        "scores against labels": partial(labelled.steps, scope=scope, basis="score"),
        "probabilities against labels": partial(labelled.steps, scope=scope, basis="probability"),
        "calibration": partial(labelled.tenths, scope=scope),
        "judges against labels, kinds, thresholds": partial(labelled.groups, scope=scope),
        "agreement of judges": partial(labelled.judge_pairs, scope=scope),
        "agreement of agents": partial(labelled.agent_pairs, scope=scope),
        "runs of a page": partial(dashboard.run_totals, run_ids=[f"run-{n:02}" for n in range(RUNS)]),
        "judges of the runs": partial(overview.run_judges, run_ids=[f"run-{n:02}" for n in range(RUNS)]),
        "first questions of the runs": partial(overview.first_questions, run_ids=[f"run-{n:02}" for n in range(RUNS)]),
        "decided by a policy": partial(overview.decided_by, policy="verdict"),
    }
    for name, query in queries.items():
        found[f"dashboard: {name}"] = partial(store.ask, query)
    return found


async def measure(location: str, count: int, only: str | None) -> dict[str, float]:
    """Fills the store where it is empty, and times what is done with it; in seconds."""
    found: dict[str, float] = {}
    started = time.perf_counter()
    store = await open_store(location)
    found["open"] = time.perf_counter() - started
    ((there,),) = await store.ask(lambda connection: connection.execute("SELECT count(*) FROM assessments").fetchall())
    if not there:
        before, cpu = time.perf_counter(), _cpu()
        await fill(store, count)
        found["fill"] = time.perf_counter() - before
        print(f"filled: {found['fill']:.0f} s, {1e6 * (_cpu() - cpu) / count:.1f} us CPU each, texts included")
    before, cpu = time.perf_counter(), _cpu()
    await store.line_facts.add_missing()
    found["facts"] = time.perf_counter() - before
    print(f"facts that were missing: {found['facts']:.1f} s, {_cpu() - cpu:.1f} s CPU")
    for name, timed in reads(store, there or count).items():
        if only is None or only in name:
            found[name], cpu = await _best(timed)
            print(f"{name:41} {found[name]:8.3f} s, {cpu:7.3f} s CPU of this process", flush=True)
    await store.close()
    return found


async def _best(timed: Timed) -> tuple[float, float]:
    """The shortest of three by the clock and by this process's CPU, in seconds; of one where that takes long."""
    best = processor = float("inf")
    for _ in range(3):
        started, cpu = time.perf_counter(), _cpu()
        await timed()
        best, processor = min(best, time.perf_counter() - started), min(processor, _cpu() - cpu)
        if best > 5:
            break
    return best, processor


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("--assessments", type=int, default=5_000_000)
    parser.add_argument("--only", help="times only what has this in its name")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = asyncio.run(measure(given.store, given.assessments, given.only))
    if "://" not in given.store:
        print(f"{Path(given.store).stat().st_size / given.assessments:.0f} bytes an assessment")
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
