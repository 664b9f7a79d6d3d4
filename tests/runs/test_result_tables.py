"""Results as tables: in the order of the input, whole or not at all."""

import pytest

from metajudge.errors import InputError
from metajudge.readers.assessment_tables import assessment_lines
from metajudge.runs.outputs import OrderedFile, TableFile, results_file
from tests.readers.test_assessment_tables import LINES


def test_the_ending_of_the_name_chooses(tmp_path):
    for name, kind in (("a.jsonl", OrderedFile), ("b", OrderedFile), ("c.parquet", TableFile), ("d.ARROW", TableFile)):
        with results_file(tmp_path / name) as file:
            assert type(file) is kind


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_rows_stand_in_the_order_of_the_input(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    with results_file(path) as file:
        for index in (2, 0, 3, 1):
            file.write(index, LINES[index] + b"\n")
    assert list(assessment_lines(path)) == LINES
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_an_interrupted_run_leaves_what_there_is(tmp_path):
    path = tmp_path / "out.parquet"
    file = results_file(path)
    file.write(0, LINES[0] + b"\n")
    file.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert list(assessment_lines(path)) == LINES[:1]


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "out.parquet").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        results_file(tmp_path / "out.parquet")
