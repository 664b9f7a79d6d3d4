"""What is to be done: the input read once, checked, without what is done already, as Parquet for the workers."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from metajudge.distributed.folder import Earlier, EarlierResults, write_table
from metajudge.types import Judgment

WORK = pa.schema([("index", pa.int64()), ("key", pa.string()), ("retry", pa.bool_()), ("judgment", pa.string())])
"""Columns of the work list. ``retry`` marks judgments that ended without a decision before."""

ROWS_A_FILE = 20_000


def write_work(
    judgments: Iterable[Judgment],
    folder: Path,
    *,
    key: Callable[[Judgment], str],
    earlier: EarlierResults,
    keep_failures: bool,
    known: Callable[[Judgment, Earlier], None],
) -> int:
    """Writes what is to be done, in order of the input, and returns how many judgments that are.

    Args:
        folder: empty or missing.
        key: what a judgment's result is kept under.
        keep_failures: whether what ended unscored or failed before is left so.
        known: called with each judgment that is done already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    count = 0

    def pending() -> Iterator[dict[str, object]]:
        for index, judgment in enumerate(judgments):
            name = key(judgment)
            done = earlier.find(name)
            if done is not None and (keep_failures or done.stands):
                known(judgment, done)
                continue
            row = {"index": index, "key": name, "retry": done is not None}
            yield {**row, "judgment": judgment.model_dump_json(exclude_defaults=True)}

    stream = pending()
    while rows := list(islice(stream, ROWS_A_FILE)):
        write_table(folder / f"{count:09}.parquet", pa.Table.from_pylist(rows, schema=WORK))
        count += len(rows)
    return count
