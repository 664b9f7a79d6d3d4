"""Judgments to lines: each record and each item once, whatever else the file holds."""

import json

import pytest

from metajudge.preferences import ExportRequest, export
from metajudge.readers.jsonl import to_line
from tests.preferences.vetted import judgment

ALL = ExportRequest.model_validate({"selection": {"rule": "all"}})


def read_of(tmp_path, lines, request=ALL):
    """What an export of a file of these lines says that it read."""
    file = tmp_path / "judgments.jsonl"
    file.write_bytes(b"".join(lines))
    export(tmp_path / "out", request, judgments=[file])
    stats = json.loads((tmp_path / "out" / "stats.json").read_text())
    return stats["read"] | {"rows": sum(part["rows"] for part in stats["splits"].values())}


def lines_of(judgments):
    return [to_line(one) for one in judgments]


def counts(read):
    return read["judgments"], read["unreadable_lines"], read["rows"]


def test_an_item_of_many_judgments_is_one_item_and_bad_lines_are_counted(tmp_path):
    lines = lines_of([judgment(0, judge=f"judge-{number}") for number in range(8)])
    lines = [b"nonsense\n", *lines, b'{"id": 3}\n', b"\xff\n"]
    assert counts(read_of(tmp_path, lines)) == (8, 3, 1)


def test_an_id_that_means_another_judgment_is_a_bad_line(tmp_path):
    judgments = [judgment(number) for number in range(10)]
    again = judgment(9, id=judgments[0].id, item_id="other")
    assert counts(read_of(tmp_path, lines_of([*judgments, again]))) == (10, 1, 10)


def test_a_repeated_judgment_counts_once(tmp_path):
    judgments = [judgment(number) for number in range(10)]
    assert counts(read_of(tmp_path, lines_of([*judgments, judgments[0]]))) == (10, 0, 10)


@pytest.mark.parametrize("place", [1, 9])
@pytest.mark.parametrize("changed", [{"question": "Something else?"}, {"label": "B>A"}])
def test_one_item_with_two_contents_is_a_bad_line(tmp_path, place, changed):
    judgments = [judgment(number) for number in range(10)]
    judgments.insert(place, judgment(0, id="second", **changed))
    assert counts(read_of(tmp_path, lines_of(judgments))) == (10, 1, 10)


def test_a_byte_order_mark_is_fine_at_the_beginning_only(tmp_path):
    lines = lines_of([judgment(number) for number in range(9)])
    lines[0] = b"\xef\xbb\xbf" + lines[0]
    lines[5] = b"\xef\xbb\xbf" + lines[5]
    assert counts(read_of(tmp_path, lines)) == (8, 1, 8)
