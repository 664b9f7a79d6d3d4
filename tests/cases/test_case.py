"""Cases as records."""

import pytest
from pydantic import ValidationError

from metajudge.cases.case import Case
from tests.doubles.cases import flood


def test_a_stage_is_there_once():
    stage = {"name": "s", "output": "x"}
    with pytest.raises(ValidationError, match="'s' is there twice"):
        Case(id="c", type="t", stages=[stage, stage])


def test_the_callers_own_data_is_no_part_of_what_is_judged():
    assert flood(meta={"ticket": 1}).digest == flood().digest
    assert flood(type="regulatory").digest != flood().digest
