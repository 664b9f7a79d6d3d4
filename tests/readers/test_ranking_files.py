from fractions import Fraction

import pytest

from metajudge.errors import InputError
from metajudge.readers.ranking_files import read_ranking_file
from tests.readers.ranking_texts import rankings, written


def test_a_bare_list_a_line_is_a_ballot_as_the_python_functions_take_it(tmp_path):
    path = written(tmp_path, "bare.jsonl", '["a", "b", ["c", "d"]]\n\n["b", "a"]\n')
    assert rankings(path) == [(("a",), ("b",), ("c", "d")), (("b",), ("a",))]


def test_lines_among_bare_lists_that_hold_no_ballot_are_left_out_with_their_reason(tmp_path):
    lines = ['["a", "b"]', '["b", "b"]', '{"ranking": ["a"]}', "[]", '["a"', '["a", 1]']
    found = read_ranking_file(written(tmp_path, "bare.jsonl", "\n".join(lines)))
    assert [ballot.line for ballot in found.ballots] == [1]
    reasons = [str(reject) for reject in found.rejects]
    for reason, words in zip(reasons, ["'b' twice", "is no list", "is empty", "not JSON", "contains 1"], strict=True):
        assert words in reason


def test_jsonl_lists_groups_text_weights_and_voters(tmp_path):
    lines = [
        '{"ranking": ["b", "a"], "voter": "x", "question_id": "q1"}',
        '{"verdict": [["b", "c"], ["a"]], "judge": "y", "item": {"id": "q2"}, "weight": 0.1}',
        '{"ranking": "b > a = c", "weight": "1/3"}',
        "",
        '{"verdict": "a>>b"}',
    ]
    found = read_ranking_file(written(tmp_path, "b.jsonl", "\n".join(lines)))
    assert found.format == "jsonl"
    assert found.candidates is None
    assert [ballot.ranking for ballot in found.ballots] == [
        (("b",), ("a",)),
        (("b", "c"), ("a",)),
        (("b",), ("a", "c")),
        (("a",), ("b",)),
    ]
    assert [ballot.weight for ballot in found.ballots] == [1, Fraction(1, 10), Fraction(1, 3), 1]
    assert [ballot.voter for ballot in found.ballots] == ["x", "y", None, None]
    assert [ballot.question for ballot in found.ballots] == ["q1", "q2", None, None]
    assert [ballot.line for ballot in found.ballots] == [1, 2, 3, 5]


def test_bad_lines_are_left_out_with_reasons_not_guessed(tmp_path):
    lines = [
        '{"ranking": ["a", "b"]}',
        '{"ranking": ["a", "a"]}',
        '{"ranking": []}',
        '{"ranking": null}',
        '{"ranking": [["a"], []]}',
        '{"ranking": ["a", 1]}',
        '{"ranking": 3}',
        '{"ranking": ["a"], "weight": 0}',
        '{"ranking": ["a"], "weight": "many"}',
        '{"ranking": ["a", NaN]}',
        "half a line",
        '{"winner": "a"}',
        '{"ranking": "a > > b"}',
    ]
    found = read_ranking_file(written(tmp_path, "b.jsonl", "\n".join(lines)))
    assert len(found.ballots) == 1
    reasons = [reject.reason for reject in found.rejects]
    assert [reject.line for reject in found.rejects] == list(range(2, 14))
    parts = ["twice", "empty", "null", "empty group", "1, which is not a name", "neither a list", "the weight is 0"]
    parts += ["the weight is 'many'", "NaN", "not JSON", "neither 'ranking'", "''"]
    for part, reason in zip(parts, reasons, strict=True):
        assert part in reason


def test_files_that_are_no_text(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        read_ranking_file(tmp_path / "missing.csv")
    path = tmp_path / "x.csv"
    path.write_bytes(b"voter,ranking\nx,caf\xe9 > b\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_ranking_file(path)
