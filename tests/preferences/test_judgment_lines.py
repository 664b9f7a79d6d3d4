"""Judgments to lines: a large file is read by two processes, and nothing may tell."""

import hashlib
import importlib
import json

import pytest

from metajudge.errors import InputError
from metajudge.preferences import ExportRequest, export, judgment_lines
from metajudge.preferences.judgment_lines import write_halves
from metajudge.readers import open_judgments
from metajudge.readers.jsonl import to_line
from tests.preferences.test_splitting import many
from tests.preferences.vetted import judgment

ALL = ExportRequest.model_validate({"selection": {"rule": "all"}})


@pytest.fixture
def large(monkeypatch):
    """Every file counts as large; the results of reading it by halves are kept."""
    tries = []

    def tried(*arguments):
        tries.append(write_halves(*arguments))
        return tries[-1]

    monkeypatch.setattr(judgment_lines, "LARGE", 1)
    monkeypatch.setattr(importlib.import_module("metajudge.preferences.intake"), "write_halves", tried)
    return tries


def lines_of(judgments):
    return [to_line(one) for one in judgments]


def both_ways(tmp_path, lines, monkeypatch, request=ALL):
    """Exports of a file in one pass and by halves: the digests of all their files, or what was said instead."""
    file = tmp_path / "judgments.jsonl"
    file.write_bytes(b"".join(lines))
    found = []
    for name, large_from in (("whole", 10**12), ("halves", 1)):
        monkeypatch.setattr(judgment_lines, "LARGE", large_from)
        out = tmp_path / name
        try:
            export(out, request, judgments=[file])
        except InputError as error:
            found.append(str(error).replace(name, "OUT"))
        else:
            files = sorted(path for path in out.rglob("*") if path.is_file())
            found.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files})
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["responses", "judgments"])
def test_halves_give_the_same_bytes_as_one_pass(tmp_path, large, monkeypatch, kind):
    judgments = many(60)
    if kind == "judgments":
        judgments = [
            judgment(number, judge=name, verdict=said, label="A>B")
            for number in range(12)
            for name, said in (("owl", "A>B"), ("crow", "B>A"))
        ]
    request = ALL.model_copy(update={"kind": kind, "by_label": kind == "judgments"})
    whole, halves = both_ways(tmp_path, lines_of(judgments), monkeypatch, ExportRequest.model_validate(dict(request)))
    assert whole == halves
    assert "stats.json" in whole
    assert large[-1] is not None, "the halves were not taken"


@pytest.mark.slow
def test_an_item_of_both_halves_is_one_item_and_bad_lines_of_both_are_counted(tmp_path, large, monkeypatch):
    lines = lines_of([judgment(0, judge=f"judge-{number}") for number in range(8)])
    lines = [b"nonsense\n", *lines, b'{"id": 3}\n', b"\xff\n"]
    whole, halves = both_ways(tmp_path, lines, monkeypatch)
    assert whole == halves
    assert [half.rejects for half in large[-1]] == [1, 2]


@pytest.mark.slow
def test_an_id_that_means_another_judgment_in_the_second_half_is_a_bad_line_as_ever(tmp_path, large, monkeypatch):
    judgments = [judgment(number) for number in range(10)]
    again = judgment(9, id=judgments[0].id, item_id="other")
    whole, halves = both_ways(tmp_path, lines_of([*judgments, again]), monkeypatch)
    assert whole == halves
    assert "stats.json" in whole


@pytest.mark.slow
def test_a_judgment_repeated_in_the_second_half_counts_once(tmp_path, large, monkeypatch):
    judgments = [judgment(number) for number in range(10)]
    whole, halves = both_ways(tmp_path, lines_of([*judgments, judgments[0]]), monkeypatch)
    assert whole == halves
    assert "stats.json" in whole


@pytest.mark.parametrize("place", [1, 9])
@pytest.mark.parametrize("changed", [{"question": "Something else?"}, {"label": "B>A"}])
def test_one_item_with_two_contents_is_told_alike(tmp_path, large, monkeypatch, place, changed):
    judgments = [judgment(number) for number in range(10)]
    other = judgment(0, id="second", **changed)
    judgments.insert(place, other)
    whole, halves = both_ways(tmp_path, lines_of(judgments), monkeypatch)
    assert whole == halves
    assert "stats.json" in whole
    assert (large[-1] is None) == (place == 1)  # of one half, it is known without the other
    assert json.loads((tmp_path / "halves" / "stats.json").read_text())["read"]["unreadable_lines"] == 1


def test_compressed_and_foreign_files_are_read_in_one_pass(tmp_path, large):
    from metajudge.readers import write_jsonl

    packed = tmp_path / "judgments.jsonl.gz"
    write_jsonl(packed, [judgment(number) for number in range(10)])
    assert write_halves(open_judgments([packed]), tmp_path, False) is None
    table = tmp_path / "votes.csv"
    table.write_text("verdict,question,judge,responses.A,responses.B\nA,q,j,x,y\n")
    assert write_halves(open_judgments([table]), tmp_path, False) is None


@pytest.mark.slow
def test_a_byte_order_mark_is_fine_at_the_beginning_only(tmp_path, large, monkeypatch):
    lines = lines_of([judgment(number) for number in range(9)])
    lines[0] = b"\xef\xbb\xbf" + lines[0]
    lines[5] = b"\xef\xbb\xbf" + lines[5]
    whole, halves = both_ways(tmp_path, lines, monkeypatch)
    assert whole == halves
