"""Lines of files: bad, huge and damaged ones."""

import gzip
import json
import random
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.reading.containers import lines
from metajudge.reading.containers.lines import BadLine, Line, Reject, Source, parse_object, read_lines
from metajudge.reading.formats.human_preferences import read_preferences
from metajudge.reading.inspection import inspect_input
from metajudge.reading.items import open_items
from metajudge.reading.label_files import read_labels
from metajudge.reading.questions import read_questions
from metajudge.reading.rankings import read_ranking_file
from metajudge.reading.rewards import read_reward_scores
from tests.reading.interop_files import INTEROP


def read(path: Path) -> list[Line | Reject]:
    return list(read_lines(Source(path, path.name)))


BAD = {
    b"hello": "not JSON: the line starts with 'hello'",
    b'{"a": 1': "half a JSON object: the line ends before the object does",
    b'{"a": "b': "half a JSON object",
    b"{": "half a JSON object",
    b'{"a": 1}}': "not JSON: extra data at character 9",
    b"{'a': 1}": "not JSON: expecting property name enclosed in double quotes",
    b"[1, 2]": "the line contains a list, not an object",
    b'"text"': "the line contains a string, not an object",
    b"7": "the line contains a number, not an object",
    b"null": "the line contains null, not an object",
    b'{"a": NaN}': "NaN is not a JSON number",
    b'{"a": -Infinity}': "-Infinity is not a JSON number",
    b'{"a": 1e999}': "a number that is too large",
    b'{"a": "\\ud800"}': "half of a surrogate pair",
    b'{"a": "\xff"}': "not UTF-8: byte 0xff at byte 7 of the line",
    b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}": "nested too deeply",
    b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}": "nested too deeply",
    b'{"a": ' * 200 + b"1" + b"}" * 200: "nested too deeply",
    # A repeated key is refused, and not settled by position.
    b'{"verdict": "A>B", "verdict": "B>A"}': "is given twice",
    b'{"item": {"id": 1, "id": 2}}': "is given twice",
    b'{"list": [{"x": 1, "x": 1}]}': "is given twice",
    b'{"verdict" : "A>B", "verdict" : "B>A"}': "is given twice",
}


@pytest.mark.parametrize(("raw", "expected"), BAD.items())
def test_each_kind_of_bad_line_has_its_own_short_reason(raw: bytes, expected: str) -> None:
    with pytest.raises(BadLine, match=re.escape(expected)) as caught:
        parse_object(raw)
    assert len(str(caught.value)) < 160
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        {"a": 'she said "x": 1, "x": 2'},
        {"a": ": starts with a colon", "b": '":'},
        {"a\\": 1, 'b"': {"c": []}},
        {"a": {"x": 1}, "b": {"x": 2}, "c": [{"x": 3}, {"x": 4}]},
    ],
)
def test_text_that_looks_like_repeated_keys_is_read(data: dict[str, object]) -> None:
    assert parse_object(json.dumps(data).encode()) == data


def test_blank_lines_bom_and_crlf_are_no_faults_and_line_numbers_stay_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n   \n{"a": 2}')
    found = read(path)
    assert [(line.number, line.data) for line in found if isinstance(line, Line)] == [(1, {"a": 1}), (4, {"a": 2})]
    assert len(found) == 2


def test_a_gzip_file_that_is_cut_gives_what_is_there_and_a_reject(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    noise = random.Random(1)
    whole = gzip.compress(b"".join(b'{"a": %d}\n' % noise.randrange(10**9) for _ in range(20_000)))
    path.write_bytes(whole[: len(whole) // 2])
    *good, last = read(path)
    assert len(good) > 1000
    assert all(isinstance(line, Line) for line in good)
    assert last.line == len(good) + 1
    assert "damaged or ends early" in last.reason


def test_a_huge_line_is_rejected_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(b'{"a": "')
        for _ in range(50):
            stream.write(b"x" * 2**20)
        stream.write(b'"}\n{"a": 2}\n')
    tracemalloc.start()
    try:
        found = read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    rejected, good = found
    assert rejected.reason == "the line is longer than 16 MiB"
    assert len(rejected.text) == lines.EXCERPT
    assert (good.number, good.data) == (2, {"a": 2})
    assert peak < 2.5 * lines.MAX_LINE_BYTES


def test_a_line_of_exactly_the_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 10)
    path = tmp_path / "x"
    path.write_bytes(b'{"a": 123}\n{"a":  123}\n{"a": 12}\n')
    kinds = [type(line) for line in read(path)]
    # The limit counts the newline: ten bytes and a newline are one too many.
    assert kinds == [Reject, Reject, Line]


OTHERS = {b"PK\x03\x04": "zip archive", b"PAR1": "Parquet", b"BZh9": "bzip2"}


@pytest.mark.parametrize(("head", "what"), OTHERS.items())
def test_another_kind_of_file_is_named(tmp_path: Path, head: bytes, what: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(head + b"rest")
    with pytest.raises(InputError, match=what):
        read(path)


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


FIRST_OF_ANOTHER_FAULT = ("promptfoo_results.jsonl", "langfuse_scores.jsonl")
"""Refused for their first record, before anything of a damage further on is read."""


@pytest.mark.parametrize("name", TEXTS)
def test_a_damaged_compressed_file_is_refused_by_name_or_read_up_to_the_damage(tmp_path: Path, name: str) -> None:
    packed, path = gzip.compress(TEXTS[name].encode(), mtime=0), tmp_path / f"{name}.gz"
    half = len(packed) // 2
    overwritten = packed[:half] + b"\0\xff" * 16 + packed[half + 32 :]
    checksum = packed[:-8] + b"0000" + packed[-4:]
    for raw in (packed[:half], b"\x1f\x8bgarbage", b"\x1f\x8b\x07" + packed[3:], overwritten, checksum):
        path.write_bytes(raw)
        said = refusals(path)
        if raw not in (overwritten, checksum) or name not in FIRST_OF_ANOTHER_FAULT:
            assert any("damaged or ends early" in message for message in said)


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
