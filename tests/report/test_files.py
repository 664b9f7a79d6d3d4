import json

import pytest

from metajudge.errors import InputError
from metajudge.report.files import check_report_path, write_report
from tests.report.reports import report


@pytest.mark.parametrize("name", ["r.html", "r.md", "r.json"])
def test_the_name_of_the_file_chooses_the_format(tmp_path, name):
    write_report(report(), tmp_path / name)
    text = (tmp_path / name).read_text()
    assert {"r.html": "<!DOCTYPE html>", "r.md": "# Report of owl", "r.json": "{"}[name] in text[:20]
    if name == "r.json":
        json.loads(text)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["r.pdf", "r", "nowhere/r.html", "."])
def test_a_path_that_cannot_be_written_is_refused_before_any_work(tmp_path, name):
    with pytest.raises(InputError):
        check_report_path(tmp_path / name)
