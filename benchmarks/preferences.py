"""Preference export at scale: seconds and peak memory, against plain pandas over the same files in the same run.

    python benchmarks/preferences.py WORK_DIR [--rows 1000000] [--without-pandas] [--split] [--json OUT]

Makes up ROWS judgments (half as many items, each judged in both orders; 200 bytes of question, two responses of 500, a
rationale of 300) and an assessment for each, once as files of JSON lines and once as a store. Then, each in a process
of its own: the export of response pairs from the store and from the files, and the same in plain pandas (read both
files, join, keep the accepted, reconcile both orders, drop empty, equal and repeated pairs, write Parquet). Near
duplicates are left in. With ``--split`` the exports split 0.9,0.05,0.05 by question cluster, which pandas does not.

Printed: wall seconds, CPU seconds and peak resident memory of each process, and the ratio to pandas. pandas needs
pyarrow to write Parquet; where that is not installed it writes JSON lines.
"""

import json
import multiprocessing
import resource
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

WORDS = 20_000


@dataclass(frozen=True, slots=True)
class Measured:
    """One way to make the dataset; megabytes are the peak resident size of its process."""

    name: str
    pairs: int
    wall_s: float
    cpu_s: float
    peak_mb: float


def text(size: int, salt: str, key: str) -> str:
    """SQL for made-up prose of about so many bytes."""
    count = max(size // 7, 1)
    word = f"words[(hash({key}, '{salt}', x) % {WORDS})::INTEGER + 1]"
    return f"(array_to_string(list_transform(range({count}), lambda x: {word}), ' ') || '.')"


def make_input(folder: Path, rows: int) -> None:
    """Writes ``judgments.jsonl``, ``assessments.jsonl`` and ``store.duckdb``; the same rows give the same content."""
    import duckdb

    work = duckdb.connect(str(folder / "made.duckdb"), config={"memory_limit": "2GB", "threads": 2})
    work.execute(f"""
        CREATE TABLE vocabulary AS SELECT list(left(translate(md5(i::VARCHAR), '0123456789', 'ghijklmnop'),
            (3 + hash(i, 'length') % 6)::INTEGER) ORDER BY i) AS words FROM range({WORDS}) t(i)""")
    work.execute(f"""
        CREATE TABLE items AS SELECT i, 'item-' || i AS id, {text(200, "question", "i")} AS question,
            {{'A': {text(500, "a", "i")}, 'B': {text(500, "b", "i")}}} AS responses, 'category ' || i % 7 AS category
        FROM range({rows // 2}) t(i), vocabulary""")
    work.execute(f"""
        CREATE TABLE judgments AS SELECT i.*, g.n, i.id || '/judge/' || g.n AS judgment_id,
            CASE WHEN g.n = 0 THEN ['A', 'B'] ELSE ['B', 'A'] END AS shown,
            CASE WHEN hash(i.i, 'better', CASE WHEN hash(i.i, g.n, 'flip') % 5 = 0 THEN 1 ELSE 0 END) % 2 = 0
                THEN 'A' ELSE 'B' END AS winner,
            {text(300, "rationale", "i.i, g.n")} AS rationale, hash(i.i, g.n, 'accepted') % 10 < 8 AS accepted
        FROM items i, range(2) g(n), vocabulary""")
    judgment = """{'version': 1, 'id': judgment_id, 'item': {'id': id, 'question': question, 'responses': responses,
        'category': category}, 'judge': 'judge', 'verdict': CASE winner WHEN 'A' THEN 'A>B' ELSE 'B>A' END,
        'rationale': rationale, 'order': shown}"""
    vetted = """{'version': 1, 'judgment_id': judgment_id, 'item_id': id, 'judge': 'judge', 'status': 'assessed',
        'final_score': CASE WHEN accepted THEN 4.6 ELSE 3.0 END, 'accepted': accepted, 'strategy': 'single',
        'threshold': 4.5, 'panel_digest': 'p', 'judgment_digest': 'd' || i || '-' || n, 'metajudge_version': '0.1.0',
        'agents': [{'agent': 'owl', 'model': 'owl-1', 'weight': 1.0,
            'score': CASE WHEN accepted THEN 4.6 ELSE 3.0 END}]}"""
    for name, record in (("judgments", judgment), ("assessments", vetted)):
        work.execute(f"COPY (SELECT unnest({record}) FROM judgments) TO '{folder / name}.jsonl' (FORMAT json)")
    work.close()
    _make_store(folder, vetted)
    (folder / "made.duckdb").unlink()


def _make_store(folder: Path, vetted: str) -> None:
    import asyncio

    import duckdb

    from metajudge.store import open_store

    async def empty() -> None:
        await (await open_store(folder / "store.duckdb")).close()

    asyncio.run(empty())
    work = duckdb.connect(str(folder / "store.duckdb"), config={"memory_limit": "2GB", "threads": 2})
    work.execute(f"ATTACH '{folder / 'made.duckdb'}' AS made (READ_ONLY)")
    work.execute("""INSERT INTO items SELECT 'i' || i, id, category,
        to_json({'question': question, 'responses': responses, 'category': category}), false FROM made.items""")
    work.execute("""INSERT INTO judgments SELECT 'd' || i || '-' || n, judgment_id, 'i' || i, id, 'judge',
        to_json({'version': 1, 'id': judgment_id, 'judge': 'judge', 'verdict':
            CASE winner WHEN 'A' THEN 'A>B' ELSE 'B>A' END, 'rationale': rationale, 'order': shown}), false
        FROM made.judgments""")
    work.execute(f"""
        INSERT INTO assessment_rows SELECT 2 * i + n, hash(judgment_id), judgment_id, 'run', 0,
        'd' || i || '-' || n, judgment_id, id, 'judge', 'assessed', CASE WHEN accepted THEN 4.6 ELSE 3.0 END,
        accepted, 'single', 'p',
        to_json({vetted}), false, NULL, NULL, NULL, NULL, NULL FROM made.judgments""")
    work.close()


def by_store(folder: Path, out: Path, split: bool) -> int:
    """The export from a store."""
    from metajudge.preferences import ExportRequest, export

    request = ExportRequest(split=(0.9, 0.05, 0.05) if split else None)
    return sum(export(out, request, store=folder / "store.duckdb").rows.values())


def by_files(folder: Path, out: Path, split: bool) -> int:
    """The export from files."""
    from metajudge.preferences import ExportRequest, export

    request = ExportRequest(split=(0.9, 0.05, 0.05) if split else None)
    source = [folder / "judgments.jsonl"]
    return sum(export(out, request, judgments=source, assessments=folder / "assessments.jsonl").rows.values())


def by_pandas(folder: Path, out: Path, split: bool) -> int:
    """The same in plain pandas, everything in memory."""
    import pandas as pd

    out.mkdir()
    judgments = pd.read_json(folder / "judgments.jsonl", lines=True)
    assessments = pd.read_json(folder / "assessments.jsonl", lines=True)
    kept = judgments.merge(assessments[assessments["accepted"]], left_on="id", right_on="judgment_id")
    kept["winner"] = kept["verdict"].str.partition(">")[0]
    kept["sure"] = kept.groupby("item_id")["winner"].transform("nunique") == 1
    pairs = kept[kept["sure"]].drop_duplicates("item_id").copy()
    pairs["prompt"] = [item["question"] for item in pairs["item"]]
    for column, wins in (("chosen", True), ("rejected", False)):
        pairs[column] = [
            item["responses"]["A" if (winner == "A") is wins else "B"]
            for item, winner in zip(pairs["item"], pairs["winner"], strict=True)
        ]
    texts = pairs[["prompt", "chosen", "rejected"]]
    normal = texts.apply(lambda one: one.str.normalize("NFC").str.lower().str.replace(r"\s+", "", regex=True))
    fine = (normal != "").all(axis=1) & (normal["chosen"] != normal["rejected"]) & ~normal.duplicated()
    found = pairs.loc[fine, ["prompt", "chosen", "rejected", "item_id", "final_score"]].sort_values("item_id")
    try:
        found.to_parquet(out / "train.parquet")
    except ImportError:
        found.to_json(out / "train.jsonl", orient="records", lines=True)
    return len(found)


WAYS: dict[str, Callable[[Path, Path, bool], int]] = {
    "metajudge, from the store": by_store,
    "metajudge, from files": by_files,
    "plain pandas, from files": by_pandas,
}


def measure(name: str, folder: Path, split: bool) -> Measured:
    """Runs one way in a process of its own."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    process = context.Process(target=_measured, args=(name, folder, out, split, results))
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(f"{name} ended with code {process.exitcode}")
    return Measured(name, *results.get())


def _measured(name: str, folder: Path, out: Path, split: bool, results: Any) -> None:
    started, used = time.perf_counter(), time.process_time()
    pairs = WAYS[name](folder, out, split)
    wall, cpu = time.perf_counter() - started, time.process_time() - used
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu += children.ru_utime + children.ru_stime
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    results.put((pairs, round(wall, 2), round(cpu, 2), round(peak, 1)))


def main(
    folder: Path,
    rows: int = 1000000,
    without_pandas: Annotated[bool, typer.Option("--without-pandas")] = False,
    split: Annotated[bool, typer.Option("--split")] = False,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Makes the input, measures each way, prints the table."""
    folder = folder / f"rows-{rows}"
    if not (folder / "store.duckdb").exists():
        folder.mkdir(parents=True, exist_ok=True)
        # In a process of its own: a child's peak memory starts from its parent's.
        maker = multiprocessing.get_context("spawn").Process(target=make_input, args=(folder, rows))
        maker.start()
        maker.join()
        if maker.exitcode:
            sys.exit(f"the input could not be made (code {maker.exitcode})")
    names = [name for name in WAYS if not (without_pandas and "pandas" in name)]
    found = [measure(name, folder, split) for name in names]
    print(f"{rows:,} judgments of {rows // 2:,} items")
    for one in found:
        ratio = f"{found[-1].wall_s / one.wall_s:5.2f} x pandas" if "pandas" in found[-1].name else ""
        print(
            f"{one.name:<28} {one.pairs:>9,} pairs {one.wall_s:>7.1f} s wall {one.cpu_s:>7.1f} s CPU "
            f"{one.peak_mb:>8.0f} MB peak {ratio}"
        )
    if out is not None:
        out.write_text(json.dumps({"rows": rows, "measured": [asdict(one) for one in found]}, indent=1))


if __name__ == "__main__":
    main.__doc__ = __doc__
    typer.run(main)
