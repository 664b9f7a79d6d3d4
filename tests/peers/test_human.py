"""Human rankings: every form, and what is no ranking."""

import json

import pytest

from metajudge.errors import InputError
from metajudge.peers import read_human_rankings


def read(text):
    (found,) = read_human_rankings([str(text)])
    return found


def write(tmp_path, data, name="arena.json"):
    path = tmp_path / name
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_written_out_with_ties():
    found = read("gpt-4o > claude 3 = gemini/1.5>llama")
    assert (found.name, found.ranking) == ("human", (("gpt-4o",), ("claude 3", "gemini/1.5"), ("llama",)))


def test_written_out_with_a_name_and_models_that_hold_a_colon():
    found = read("arena: ollama:8b > x")
    assert (found.name, found.ranking[0]) == ("arena", ("ollama:8b",))
    assert read("ollama:8b > x").name == "human"


def test_from_a_file(tmp_path):
    assert read(write(tmp_path, ["a", ["b", "c"]])).ranking == (("a",), ("b", "c"))
    named = read(write(tmp_path, {"name": "experts", "ranking": ["a", "b"]}))
    assert (named.name, named.models) == ("experts", ("a", "b"))


def test_scores_rank_higher_first_and_equal_scores_tie(tmp_path):
    found = read(write(tmp_path, {"scores": {"a": 1200, "b": 1250.5, "c": 1200}}))
    assert (found.name, found.ranking) == ("arena", (("b",), ("a", "c")))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"scores": {"a": 1, "b": None}}, "score of 'b' must be a finite number, not None"),
        ('{"scores": {"a": NaN, "b": 1}}', "NaN is no number"),
        ({"scores": {"a": True, "b": 1}}, "score of 'a'"),
        ({"scores": {}}, "scores must be an object"),
        ({"ranking": ["a", "a"]}, "names 'a' more than once"),
        ({"ranking": ["a"]}, "fewer than two models"),
        ({"ranking": ["a", []]}, "is no ranking"),
        ({"ranking": ["a", "b"], "scores": {}}, "either ranking or scores"),
        ({"rankings": ["a", "b"]}, "either ranking or scores"),
        ({"ranking": ["a", "b"], "elo": 1}, "unknown field elo"),
        ("not json", "is no human ranking"),
        ("3", "either ranking or scores"),
    ],
)
def test_bad_files_name_the_file_and_say_what_is_accepted(tmp_path, data, message):
    with pytest.raises(InputError, match=message) as found:
        read(write(tmp_path, data))
    assert "arena.json" in str(found.value)


@pytest.mark.parametrize("text", ["arena.json", "a", "a > ", "a > a", "> a > b", "x: a"])
def test_text_that_is_neither_a_file_nor_a_ranking(text):
    with pytest.raises(InputError, match="Give a file with"):
        read(text)


def test_two_references_of_one_name_are_refused():
    with pytest.raises(InputError, match="several human rankings are called human"):
        read_human_rankings(["a > b", "b > a"])
