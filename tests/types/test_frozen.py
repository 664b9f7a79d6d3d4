import pytest
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.readers.reasons import as_judgment
from metajudge.types import Judgment
from metajudge.types.frozen import DEEPEST, Finite, shallow
from tests.doubles.judgments import judgment


class Measured(Finite):
    value: float


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


def nested(levels, outer=lambda inner: {"a": inner}):
    data = outer("") if levels else ""
    for _ in range(levels - 1):
        data = outer(data)
    return data


@pytest.mark.parametrize("outer", [lambda inner: {"a": inner}, lambda inner: [1, inner], lambda inner: (inner, 1)])
def test_data_may_be_nested_so_deep_and_no_deeper(outer):
    assert shallow(nested(DEEPEST, outer)) == nested(DEEPEST, outer)
    with pytest.raises(ValueError, match="nested more than 198 levels deep"):
        shallow(nested(DEEPEST + 1, outer))


@pytest.mark.parametrize(
    ("number", "allowed"), [(2**64 - 1, True), (2**64, False), (-(2**63), True), (-(2**63) - 1, False)]
)
def test_whole_numbers_have_64_bits(number, allowed):
    if allowed:
        assert shallow({"a": [number]}) == {"a": [number]}
    else:
        with pytest.raises(ValueError, match="more than 64 bits"):
            shallow({"a": [number]})


def test_what_is_accepted_is_written_and_read_again():
    one = Judgment.model_validate(judgment().model_dump() | {"meta": nested(DEEPEST)})
    assert Judgment.model_validate_json(one.model_dump_json()) == one


def test_in_python_too_deep_data_and_data_that_contains_itself_are_errors_of_the_record():
    itself = {}
    itself["a"] = itself
    for meta in (nested(500), itself):
        with pytest.raises(InputError, match="'meta': nested more than 198 levels deep"):
            as_judgment(judgment().model_dump() | {"meta": meta})
