import pytest
from pydantic import ValidationError

from metajudge.audit.card import Check, Figure


def check(**changes):
    given = {
        "name": "length",
        "title": "Prefers longer responses",
        "status": "none",
        "estimate": 0.01,
        "interval": (-0.05, 0.07),
        "p_value": 0.7,
        "adjusted_p": 1.0,
        "smallest_effect": 0.09,
        "relevant_effect": 0.1,
        "labels_needed": 81,
        "n": 100,
        "questions": 100,
        "reference": "labels",
        "unit": "difference of error rates",
        "test": "t test",
        "sentence": "No finding.",
    }
    return Check(**{**given, **changes})


def test_a_status_is_one_of_three():
    assert check().status == "none"
    with pytest.raises(ValidationError):
        check(status="not applicable")


def test_no_number_stands_for_no_answer():
    with pytest.raises(ValidationError):
        check(estimate=float("nan"))
    with pytest.raises(ValidationError):
        Figure(estimate=float("inf"), interval=None, n=1, questions=1, method="m")
