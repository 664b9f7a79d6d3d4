import json
from dataclasses import replace

from metajudge.benchmarks.perf import fuzz

from metajudge.agents import ReplyProblemsError


def test_no_parser_crashes_or_invents_a_score():
    for name, tally in fuzz.fuzz(3_500, seed=1).items():
        assert tally.read + tally.refused == 500, name
        assert tally.crashes == []
        assert tally.invented == []
        assert tally.read > 20, "some replies stay readable, or reading would not be tested"


def lenient(text):
    """Takes the first number after any name, as a careless parser would."""
    digits = [letter for letter in text if letter in "12345"]
    if not digits:
        raise ReplyProblemsError(["no number"])
    return int(digits[0])


def test_a_parser_that_guesses_is_found_out(monkeypatch):
    honest = fuzz.targets()["grading"]
    guessing = replace(honest, parse=lenient, values=lambda grade: grade)
    monkeypatch.setattr(fuzz, "targets", lambda: {"grading": guessing})
    assert fuzz.fuzz(300, seed=0)["grading"].invented


def test_a_parser_that_crashes_is_found_out(monkeypatch):
    honest = fuzz.targets()["grading"]
    monkeypatch.setattr(fuzz, "targets", lambda: {"grading": replace(honest, parse=json.loads)})
    assert fuzz.fuzz(300, seed=0)["grading"].crashes
