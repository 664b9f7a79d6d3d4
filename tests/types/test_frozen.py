import pytest
from pydantic import ValidationError

from metajudge.types.frozen import Finite, Frozen


class Named(Frozen):
    name: str


class Measured(Finite):
    value: float


def test_a_record_cannot_be_changed():
    with pytest.raises(ValidationError, match="frozen"):
        Named(name="a").name = "b"


def test_an_unknown_field_is_an_error():
    with pytest.raises(ValidationError, match="Extra inputs"):
        Named(name="a", other=1)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_finite_records_hold_finite_numbers(value):
    with pytest.raises(ValidationError, match="finite"):
        Measured(value=value)
    assert Measured(value=1.5).value == 1.5
    with pytest.raises(ValidationError, match="frozen"):
        Measured(value=1.0).value = 2.0
