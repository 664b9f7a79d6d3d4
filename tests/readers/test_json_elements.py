import gzip
import json
from pathlib import Path

import pytest

from metajudge.readers import tables
from metajudge.readers.lines import Line, Reject, Source
from metajudge.readers.tables import read_elements


def elements(path: Path) -> list[Line | Reject]:
    return list(read_elements(Source(path, "x.json")))


@pytest.mark.parametrize("chunk", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize("options", [{}, {"indent": 1}, {"ensure_ascii": False}])
def test_elements_are_the_same_wherever_the_file_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, options: dict[str, object]
) -> None:
    data = [{"a": 'x"],[{\\' * 3, "b": [1, {"c": 2}], "t": 'é,["' * n} for n in range(12)]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(data, **options), encoding="utf-8")
    monkeypatch.setattr(tables, "_CHUNK", chunk)
    assert [entry.data for entry in elements(path) if isinstance(entry, Line)] == data


def test_a_bad_entry_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('\ufeff[{"a": 1}, 7, {"b": }, {"c": 1, "c": 2}, {"d": 4}]')
    found = elements(path)
    assert [str(entry) for entry in found if isinstance(entry, Reject)] == [
        "x.json:2: the entry contains a number, not an object",
        "x.json:3: not JSON: expecting value at character 7",
        "x.json:4: the key 'c' is given twice",
    ]
    assert [(entry.number, entry.data) for entry in found if isinstance(entry, Line)] == [(1, {"a": 1}), (5, {"d": 4})]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"a": 1},', "the list does not end"),
        ('[{"a": 1}] x', "text follows the list"),
        ('[{"a": "1}', "does not end"),
    ],
)
def test_a_list_that_ends_early_gives_what_it_has_and_says_so(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    *_, last = elements(path)
    assert isinstance(last, Reject)
    assert reason in last.reason


def test_an_entry_that_is_too_long_is_rejected_without_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(tables, "_CHUNK", 64)
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"a": "y" * 5000}, {"b": ["z"] * 3000}, {"c": 1}]))
    found = elements(path)
    assert [type(entry) for entry in found] == [Reject, Reject, Line]
    assert isinstance(found[2], Line)
    assert found[2].data == {"c": 1}


def test_an_empty_list_and_a_packed_one(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(" [ ] ")
    assert elements(path) == []
    path.write_bytes(gzip.compress(b'[{"a": 1}]'))
    assert [entry.data for entry in elements(path) if isinstance(entry, Line)] == [{"a": 1}]
