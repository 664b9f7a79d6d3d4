"""Judgments given in Python."""

import pytest

from metajudge.errors import InputError
from metajudge.readers.in_memory import as_judgment
from tests.doubles.judgments import judgment


def test_a_judgment_is_itself_and_plain_data_become_one():
    one = judgment()
    assert as_judgment(one) is one
    assert as_judgment(one.model_dump(mode="json")) == one


def test_what_is_none_is_named_by_its_place():
    with pytest.raises(InputError, match="judgment 3 of 10 is a list"):
        as_judgment([], place="judgment 3 of 10")
    with pytest.raises(InputError, match=r"the judgment is not valid: .*id"):
        as_judgment({key: value for key, value in judgment().model_dump(mode="json").items() if key != "id"})
