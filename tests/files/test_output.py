"""Output files: checked before the work, written in one step."""

import pytest

from metajudge.errors import InputError
from metajudge.files.output import check_apart, write_text


def test_a_file_that_is_read_is_never_written_over_by_any_of_its_names(tmp_path):
    (tmp_path / "in.jsonl").touch()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "in.jsonl")
    for name in ("in.jsonl", "link.jsonl", "./in.jsonl"):
        with pytest.raises(InputError, match="would be overwritten"):
            check_apart([tmp_path / "in.jsonl"], [None, tmp_path / name])
    with pytest.raises(InputError, match="two outputs"):
        check_apart([], [tmp_path / "out.json", tmp_path / "." / "out.json"])
    assert check_apart([tmp_path / "in.jsonl"], [tmp_path / "out.json", None]) is None


def test_a_writer_that_breaks_off_leaves_the_old_file(tmp_path):
    path = tmp_path / "scores.jsonl"
    path.write_text("old\n")

    def lines():
        yield "new\n"
        raise InputError("broken")

    with pytest.raises(InputError):
        write_text(path, lines())
    assert path.read_text() == "old\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["scores.jsonl"]
