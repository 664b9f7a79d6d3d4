"""Damaged files: through every way in a typed error that names the file, and nothing else."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.readers.human_preferences import read_preferences
from metajudge.readers.inspection import inspect_input
from metajudge.readers.items import open_items
from metajudge.readers.label_files import read_labels
from metajudge.readers.questions import read_questions
from metajudge.readers.ranking_files import read_ranking_file
from metajudge.readers.rewards import read_reward_scores
from tests.readers.interop_files import INTEROP

OF_TOOLS = [
    *("argilla.json", "deepeval/results.json", "inspect/log.json", "promptfoo/results.csv", "promptfoo/results.jsonl"),
    *("langfuse/scores.jsonl", "ragas/ragas-annotations.json"),
]
TEXTS = {name.replace("/", "_"): (INTEROP / name).read_text() for name in OF_TOOLS} | {
    "rank.jsonl": '{"ranking": ["a", "b"]}\n' * 400,
    "bare.jsonl": '["a", "b"]\n' * 400,
    "rank.csv": "ranking\n" + "a > b\n" * 400,
    "x.soc": "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n" + "1: 1,2\n" * 400,
}
WAYS: list[Callable[[Path], Any]] = [
    *(lambda path: list(open_judgments([path]).scan()), lambda path: list(open_items([str(path)]))),
    *(lambda path: inspect_input(str(path)), lambda path: read_labels([path])),
    *(read_ranking_file, read_questions, read_reward_scores, read_preferences),
]


def refusals(path: Path) -> list[str]:
    """What every way says; nothing but InputError is raised."""
    said = []
    for way in WAYS:
        try:
            way(path)
        except InputError as error:
            said.append(str(error))
    assert all(path.name in message for message in said)
    return said


@pytest.mark.parametrize("name", TEXTS)
def test_a_damaged_compressed_file_is_refused_by_name_or_read_up_to_the_damage(tmp_path: Path, name: str) -> None:
    packed, path = gzip.compress(TEXTS[name].encode(), mtime=0), tmp_path / f"{name}.gz"
    half = len(packed) // 2
    overwritten = packed[:half] + b"\0\xff" * 16 + packed[half + 32 :]
    checksum = packed[:-8] + b"0000" + packed[-4:]
    for raw in (packed[:half], b"\x1f\x8bgarbage", b"\x1f\x8b\x07" + packed[3:], overwritten, checksum):
        path.write_bytes(raw)
        assert any("damaged or ends early" in message for message in refusals(path))


def test_one_object_with_half_of_a_surrogate_pair_says_where(tmp_path: Path) -> None:
    log = json.loads((INTEROP / "inspect" / "log.json").read_text())
    log["samples"][1]["target"] = "\ud800"
    (tmp_path / "log.json").write_text(json.dumps(log, indent=1))
    with pytest.raises(InputError, match=r"log\.json contains half of a surrogate pair .* in samples\.1\.target"):
        open_judgments([tmp_path / "log.json"])


def test_a_damaged_file_in_a_folder_is_not_left_out(tmp_path: Path, write: Any, record: Any) -> None:
    write("runs/whole.jsonl", record())
    write("runs/cut.jsonl.gz", b"\x1f\x8bgarbage")
    with pytest.raises(InputError, match=r"cut\.jsonl\.gz is damaged or ends early .* get a whole copy"):
        open_judgments([tmp_path / "runs"])


def test_a_damaged_workbook_is_refused(tmp_path: Path) -> None:
    openpyxl.Workbook().save(path := tmp_path / "x.xlsx")
    raw = path.read_bytes()
    for cut in (60, 2_000):
        path.write_bytes(raw[:cut] + b"\xff" * 200 + raw[cut + 200 :])
        assert refusals(path)
