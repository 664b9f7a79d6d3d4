import gzip
from fractions import Fraction

import pytest

from metajudge.errors import InputError
from metajudge.readers.ranking_files import read_ranking_file
from metajudge.readers.rankings import ranking_from_text, weight_of
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


def test_csv_with_a_ranking_a_row(tmp_path):
    path = written(tmp_path, "b.csv", "voter,weight,ranking\nx,2,b > a=c\ny,,a>b\n")
    assert rankings(path) == [(("b",), ("a", "c")), (("a",), ("b",))]
    assert [ballot.weight for ballot in read_ranking_file(path).ballots] == [2, 1]


def test_csv_with_a_column_a_candidate_has_lower_ranks_first_and_empty_cells_unranked(tmp_path):
    path = written(tmp_path, "b.csv", "judge,a,b,c\nx,2,1,10\ny,1,1,\nz,,,3\n")
    assert rankings(path) == [(("b",), ("a",), ("c",)), (("a", "b"),), (("c",),)]
    assert read_ranking_file(path).candidates == ("a", "b", "c")


def test_csv_with_a_place_a_row(tmp_path):
    path = written(tmp_path, "b.csv", "voter,candidate,rank\nx,a,2\ny,a,1\nx,b,1\ny,b,1\n")
    assert rankings(path) == [(("b",), ("a",)), (("a", "b"),)]


def test_tsv_and_gzip_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "b.tsv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfvoter\tranking\nx\ta > b\n"))
    assert rankings(path) == [(("a",), ("b",))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("voter,candidate,rank\nx,a,1\nx,a,2\n", "ranks a candidate twice"),
        ("voter,candidate,rank,weight\nx,a,1,1\nx,b,2,3\n", "different weights"),
        ("a,b\n1,first\n", "the rank is 'first'"),
        ("a,b\n,\n1\n", "the row has 1 cells, the header 2"),
        ("voter,ranking\nx,a > a\n", "'a' twice"),
        ("candidate,rank\na,1\n", "need a column that names the voter"),
        ("voter,score\nx,1\n", "make no ballots"),
        ("a,a\n1,2\n", "a name of its own"),
        ("", "is empty"),
    ],
)
def test_csv_that_holds_no_ballot_says_why(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_ranking_file(written(tmp_path, "b.csv", text))


def test_weights_are_exact():
    assert weight_of(0.1) == Fraction(1, 10)
    assert weight_of("2/6") == Fraction(1, 3)
    for bad in (True, None, "nan", float("inf"), -1, "1/0", []):
        with pytest.raises(InputError, match="weight"):
            weight_of(bad)


def test_strength_of_a_verdict_does_not_split_places():
    assert ranking_from_text("a>>b = c") == (("a",), ("b", "c"))


@pytest.mark.parametrize("weight", ["1e999999999", "1e-999999999", "1e400"])
def test_a_weight_with_a_wild_exponent_is_refused_before_it_is_expanded(weight):
    with pytest.raises(InputError, match="between 1e-100 and 1e100"):
        weight_of(weight)
