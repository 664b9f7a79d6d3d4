"""Digests, and JSON that can hold any text a program can."""

import hashlib

import orjson
import pytest

from metajudge.types import digest, json_bytes, text_digest, valid_text

LONE = "before \ud83d after"


def test_a_digest_is_that_of_the_canonical_json():
    expected = hashlib.sha256(b'{"a":[1,"\xc3\xbc"],"b":null}').hexdigest()[:32]
    assert digest({"b": None, "a": [1, "ü"]}) == expected


@pytest.mark.parametrize("value", [LONE, [LONE], {"a": LONE}, {LONE: 1}, [{"a": (LONE,)}]])
def test_a_lone_surrogate_has_a_digest_and_can_be_sent(value):
    assert len(digest(value)) == 32
    assert b"before \xef\xbf\xbd after" in json_bytes(value)


def test_what_is_sent_alike_has_one_digest_and_other_text_another():
    assert digest(LONE) == digest("before \ufffd after")
    assert digest(LONE) != digest("before  after")


def test_two_halves_that_belong_together_are_one_character():
    assert valid_text("\ud83e\udd89") == "🦉"
    assert valid_text("🦉 ü") == "🦉 ü"


def test_what_json_cannot_hold_is_still_an_error():
    with pytest.raises(TypeError):
        digest({1, 2})
    with pytest.raises(TypeError):
        json_bytes([LONE, object()])


def test_valid_json_is_left_byte_for_byte():
    value = {"b": [1, 2.5, "x"], "a": None}
    assert json_bytes(value) == orjson.dumps(value)


def test_a_texts_digest_tells_surrogates_apart():
    assert text_digest("\ud83d") != text_digest("\ud83e")
