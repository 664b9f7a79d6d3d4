"""Token probabilities as they are stored."""

import orjson

from metajudge.types.calls import TokenChoice, TokenProbabilities

FOUND = TokenProbabilities((TokenChoice(3, "4", -0.25, (("5", -1.5), ("3", -4.0))), TokenChoice(9, "2", 0.0)))


def test_stored_and_read_again_they_are_the_same():
    assert TokenProbabilities.from_json(FOUND.to_json()) == FOUND
    absent = TokenProbabilities(absent="the server gives none")
    assert TokenProbabilities.from_json(absent.to_json()) == absent


def test_the_stored_form_is_compact():
    assert orjson.loads(FOUND.to_json()) == {"tokens": [[3, "4", -0.25, [["5", -1.5], ["3", -4.0]]], [9, "2", 0.0, []]]}
    assert orjson.loads(TokenProbabilities(absent="none").to_json()) == {"absent": "none"}
    assert TokenProbabilities.from_json(TokenProbabilities().to_json()) == TokenProbabilities()
