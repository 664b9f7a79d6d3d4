"""Writes our verdicts as Hugging Face datasets: ``python -m benchmarks.interop.make_datasets DIR``.

To be run by a Python that has it (``pip install datasets``). Written are a table whose columns are named after our
fields, as a folder of ``save_to_disk()`` with two splits, as Parquet and as JSONL; and records of our own format, which
``load_dataset("json")`` reads and writes as Parquet. What was run is printed.
"""

import json
import sys
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .cases import CASES, EXPLANATIONS
from .pair_cases import ANSWERS, MODELS

_TIME = "2026-11-01T10:00:00Z"
_SPLIT = 4


def main(folder: Path) -> None:
    """Writes ``datasets/``, ``datasets.parquet``, ``datasets.jsonl`` and ``datasets-records.parquet``."""
    datasets: Any = import_module("datasets")
    datasets.disable_progress_bars()
    whole = datasets.Dataset.from_list(_rows())
    parts = {"train": whole.select(range(_SPLIT)), "test": whole.select(range(_SPLIT, len(CASES)))}
    # A selection of rows is saved without its indices, as they refer to the whole.
    split = datasets.DatasetDict({name: part.flatten_indices() for name, part in parts.items()})
    split.save_to_disk(folder / "datasets")
    whole.to_parquet(folder / "datasets.parquet")
    whole.to_json(folder / "datasets.jsonl")
    print(
        f"datasets {version('datasets')}: {len(whole)} rows as save_to_disk() with {len(split)} splits, Parquet, JSONL"
    )
    with tempfile.TemporaryDirectory() as work:
        lines = Path(work) / "judgments.jsonl"
        lines.write_text("".join(json.dumps(one) + "\n" for one in _records()))
        records = datasets.load_dataset("json", data_files=str(lines), split="train", cache_dir=work)
        records.to_parquet(folder / "datasets-records.parquet")
    print(f"load_dataset('json'): {len(records)} records of our format, columns {', '.join(records.column_names)}")


def _verdict(right: bool | None) -> str | None:
    return None if right is None else "A>B" if right else "B>A"


def _rows() -> list[dict[str, Any]]:
    return [
        {
            "question": case.question,
            "responses.A": case.answer,
            "responses.B": ANSWERS[MODELS[1]][number],
            "models.A": MODELS[0],
            "models.B": MODELS[1],
            "judge": "gpt-4o-mini",
            "verdict": _verdict(case.judge),
            "no_verdict": None if case.judge is not None else "the judge gave no answer in time",
            "rationale": EXPLANATIONS[case.judge],
            "human_labels": [{"value": _verdict(right), "annotator": who} for who, right in case.people.items()],
            "meta.time": _TIME,
        }
        for number, case in enumerate(CASES)
    ]


def _records() -> list[dict[str, Any]]:
    return [
        {
            "version": 1,
            "id": f"case-{number}",
            "item": {
                "id": f"case-{number}",
                "question": row["question"],
                "responses": {"A": row["responses.A"], "B": row["responses.B"]},
                "models": dict(zip("AB", MODELS, strict=True)),
                "labels": [{**one, "time": _TIME} for one in row["human_labels"]],
            },
            "judge": row["judge"],
            "verdict": row["verdict"],
            "no_verdict": row["no_verdict"],
            "rationale": row["rationale"],
            "meta": {"time": _TIME},
        }
        for number, row in enumerate(_rows())
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
