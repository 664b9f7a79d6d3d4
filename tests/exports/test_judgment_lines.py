"""Judgments to lines: each record and each item once, whatever else the file holds."""

from metajudge.exports import ExportRequest, export
from metajudge.readers.jsonl import to_line
from tests.exports.vetted import judgment


def test_repeated_judgments_count_once_and_bad_lines_are_counted(tmp_path):
    judgments = [judgment(0, judge=f"judge-{number}") for number in range(8)]
    other = judgment(9, id=judgments[0].id, item_id="other")
    lines = [b"nonsense\n", *map(to_line, [*judgments, judgments[0], other]), b'{"id": 3}\n', b"\xff\n"]
    (tmp_path / "judgments.jsonl").write_bytes(b"".join(lines))
    request = ExportRequest.model_validate({"selection": {"rule": "all"}})
    result = export(tmp_path / "out", request, judgments=[tmp_path / "judgments.jsonl"])
    assert (result.stats["read"]["judgments"], result.stats["read"]["unreadable_lines"]) == (8, 4)
    assert sum(result.rows.values()) == 1
