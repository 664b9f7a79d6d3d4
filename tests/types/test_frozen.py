import pytest
from pydantic import ValidationError

from metajudge.types.frozen import Finite, Frozen
from tests.doubles.judgments import judgment


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


def test_a_copy_with_other_values_has_the_digests_of_what_it_says():
    one = judgment(rationale="Four words stand here.")
    before = one.digest, one.vetting_digest, one.words, one.item.words
    other = one.model_copy(update={"rationale": "Two words."})
    assert other.digest != before[0]
    assert other.digest == judgment(rationale="Two words.").digest
    assert (other.vetting_digest != before[1], other.words) == (True, 2)
    assert (one.digest, one.vetting_digest, one.words, one.item.words) == before


def test_a_copy_without_changes_keeps_what_was_computed():
    one = judgment()
    assert one.digest
    assert "digest" in one.model_copy().__dict__
