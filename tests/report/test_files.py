import pytest

from metajudge.errors import InputError
from metajudge.report.files import check_report_path


@pytest.mark.parametrize("name", ["r.pdf", "r", "nowhere/r.html", "."])
def test_a_path_that_cannot_be_written_is_refused_before_any_work(tmp_path, name):
    with pytest.raises(InputError):
        check_report_path(tmp_path / name)
