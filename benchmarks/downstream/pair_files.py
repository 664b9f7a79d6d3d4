"""Training and test pairs as files, for reward models that are trained elsewhere.

A folder for each set with ``test.jsonl`` (the labelled response is ``chosen``) and a file for each selection of the
verdicts of the judge that has most, in the columns ``prompt``, ``chosen`` and ``rejected``. The files have the texts.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from metajudge.stats.arrays import Indices

from .recorded import NONE, Pairs, Verdicts
from .rewards import divide, training_sets


def write_pairs(folder: Path, pairs: Pairs, every: Sequence[Verdicts], seed: int) -> list[Path]:
    """Writes the files of one division of the questions; selections without a pair have none.

    Args:
        folder: made if missing; files of the same name are replaced.
        seed: of the division and of the thinning.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tested, rng = divide(pairs, seed)
    most = max(every, key=lambda one: int((one.chosen != NONE).sum()))
    rows = np.flatnonzero(tested)
    written = [_write(folder / "test.jsonl", pairs, rows, pairs.better[rows])]
    for name, (mine, chosen) in training_sets(pairs, most, ~tested, rng).items():
        if len(mine):
            written.append(_write(folder / f"{name.replace(', ', '-').replace(' ', '-')}.jsonl", pairs, mine, chosen))
    return written


def _write(path: Path, pairs: Pairs, rows: Indices, chosen: Indices) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for at, place in zip(rows.tolist(), chosen.tolist(), strict=True):
            item = pairs.items[at]
            both = tuple(item.responses.values())
            row = {"prompt": item.question, "chosen": both[place], "rejected": both[1 - place]}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path
