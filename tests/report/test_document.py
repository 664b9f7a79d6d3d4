import pytest
from pydantic import ValidationError

from metajudge.report.document import (
    Measured,
    Report,
)
from tests.report.reports import report


def test_the_report_survives_its_own_json():
    whole = report()
    assert Report.model_validate_json(whole.model_dump_json()) == whole


def test_not_a_number_cannot_stand_for_an_absent_figure():
    with pytest.raises(ValidationError):
        Measured(value=float("nan"), low=0, high=1)
