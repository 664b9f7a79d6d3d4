"""Writes that fail say which file and what to do."""

import errno

import pytest
from metajudge.runs.output_files import let_go, written_to

from metajudge.errors import OutputError


def test_a_failed_write_names_the_file_and_the_way_on(tmp_path):
    with (
        pytest.raises(OutputError, match=r"out\.jsonl: cannot be written any further: No space.*give the same command"),
        written_to(tmp_path / "out.jsonl"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_other_errors_and_no_error_pass(tmp_path):
    with written_to(tmp_path / "x"):
        pass
    with pytest.raises(ValueError, match="other"), written_to(tmp_path / "x"):
        raise ValueError("other")


def test_a_file_whose_buffer_cannot_be_written_is_closed_all_the_same():
    class Full:
        closed = False

        def close(self):
            self.closed = True
            raise OSError(errno.ENOSPC, "full")

    file = Full()
    let_go(file)
    assert file.closed
