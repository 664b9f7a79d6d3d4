import pytest

from metajudge.errors import InputError
from metajudge.readers.in_memory import as_judgment
from metajudge.types import Judgment
from metajudge.types.frozen import DEEPEST, shallow
from tests.doubles.judgments import judgment


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


def test_what_is_accepted_is_written_and_read_again():
    one = Judgment.model_validate(judgment().model_dump() | {"meta": nested(DEEPEST)})
    assert Judgment.model_validate_json(one.model_dump_json()) == one


def test_in_python_too_deep_data_and_data_that_contains_itself_are_errors_of_the_record():
    itself = {}
    itself["a"] = itself
    for meta in (nested(500), itself):
        with pytest.raises(InputError, match="'meta': nested more than 198 levels deep"):
            as_judgment(judgment().model_dump() | {"meta": meta})
