"""Files of rankings: JSONL, CSV, PrefLib, and judgments as ballots."""

import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import parse_map
from metajudge.readers.ranking_files import read_ranking_file
from metajudge.readers.rankings import are_slots, ranking_from_text, weight_of
from metajudge.readers.saved_maps import save_map
from tests.readers.conftest import Write


def rankings(path):
    found = read_ranking_file(path)
    assert not found.rejects, found.rejects[0]
    return [ballot.ranking for ballot in found.ballots]


def test_a_bare_list_a_line_is_a_ballot_as_the_python_functions_take_it(write):
    path = write("bare.jsonl", '["a", "b", ["c", "d"]]\n\n["b", "a"]\n')
    assert rankings(path) == [(("a",), ("b",), ("c", "d")), (("b",), ("a",))]


def test_lines_among_bare_lists_that_hold_no_ballot_are_left_out_with_their_reason(write):
    lines = ['["a", "b"]', '["b", "b"]', '{"ranking": ["a"]}', "[]", '["a"', '["a", 1]']
    found = read_ranking_file(write("bare.jsonl", *lines))
    assert [ballot.line for ballot in found.ballots] == [1]
    reasons = [str(reject) for reject in found.rejects]
    for reason, words in zip(reasons, ["'b' twice", "is no list", "is empty", "not JSON", "contains 1"], strict=True):
        assert words in reason


def test_jsonl_lists_groups_text_weights_and_voters(write):
    lines = [
        '{"ranking": ["b", "a"], "voter": "x", "question_id": "q1"}',
        '{"verdict": [["b", "c"], ["a"]], "judge": "y", "item": {"id": "q2"}, "weight": 0.1}',
        '{"ranking": "b > a = c", "weight": "1/3"}',
        "",
        '{"verdict": "a>>b"}',
    ]
    found = read_ranking_file(write("b.jsonl", *lines))
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


def test_bad_lines_are_left_out_with_reasons_not_guessed(write):
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
    found = read_ranking_file(write("b.jsonl", *lines))
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


def test_csv_with_a_ranking_a_row(write):
    path = write("b.csv", "voter,weight,ranking\nx,2,b > a=c\ny,,a>b\n")
    assert rankings(path) == [(("b",), ("a", "c")), (("a",), ("b",))]
    assert [ballot.weight for ballot in read_ranking_file(path).ballots] == [2, 1]


def test_csv_with_a_column_a_candidate_has_lower_ranks_first_and_empty_cells_unranked(write):
    path = write("b.csv", "judge,a,b,c\nx,2,1,10\ny,1,1,\nz,,,3\n")
    assert rankings(path) == [(("b",), ("a",), ("c",)), (("a", "b"),), (("c",),)]
    assert read_ranking_file(path).candidates == ("a", "b", "c")


def test_csv_with_a_place_a_row(write):
    path = write("b.csv", "voter,candidate,rank\nx,a,2\ny,a,1\nx,b,1\ny,b,1\n")
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
def test_csv_that_holds_no_ballot_says_why(write, text, message):
    with pytest.raises(InputError, match=message):
        read_ranking_file(write("b.csv", text))


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


PREFLIB = """# FILE NAME: 00001-00000001.toc
# DATA TYPE: toc
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 5
# ALTERNATIVE NAME 1: Apple pie
# ALTERNATIVE NAME 2: Bread, with salt
# ALTERNATIVE NAME 3: Cake
3: 1,{2,3}
2: 3,2,1
"""


def test_preflib_names_counts_ties_and_commas_in_names(write):
    found = read_ranking_file(write("x.toc", PREFLIB))
    assert not found.rejects
    assert found.format == "preflib"
    assert found.candidates == ("Apple pie", "Bread, with salt", "Cake")
    assert [ballot.ranking for ballot in found.ballots] == [
        (("Apple pie",), ("Bread, with salt", "Cake")),
        (("Cake",), ("Bread, with salt",), ("Apple pie",)),
    ]
    assert [ballot.weight for ballot in found.ballots] == [3, 2]


def test_preflib_is_known_by_its_content_and_in_its_former_format(write):
    assert read_ranking_file(write("x.txt", PREFLIB)).format == "preflib"
    former = "3\n1,Apple\n2,Bread\n3,Cake\n5,5,2\n3,1,{2,3}\n2,3\n"
    found = read_ranking_file(write("x.toi", former))
    assert [ballot.ranking for ballot in found.ballots] == [(("Apple",), ("Bread", "Cake")), (("Cake",),)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2: 3,2,1\n", "", "announces 5 voters and contains 3: it may be cut off"),
        ("2: 3,2,1", "2: 3,2,4", "candidate 4, which the file does not declare"),
        ("2: 3,2,1", "2: 3,2", "leaves candidates out, and the file is of type toc"),
        ("2: 3,2,1", "2: 3,2,2,1", "names a candidate twice"),
        ("2: 3,2,1", "2: 3,{2,1", "groups are written"),
        ("2: 3,2,1", "many: 3,2,1", "not an order"),
        ("2: 3,2,1", "0: 3,2,1", "not an order"),
        ("DATA TYPE: toc", "DATA TYPE: soc", "has ties, and the file is of type soc"),
    ],
)
def test_preflib_orders_that_contradict_the_file_are_rejected(write, old, new, message):
    found = read_ranking_file(write("x.txt", PREFLIB.replace(old, new)))
    assert message in found.rejects[0].reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing of the kind\n", "begins neither with '#'"),
        ("# DATA TYPE: wmd\n# ALTERNATIVE NAME 1: a\n1: 1\n", "of type 'wmd'"),
        ("# DATA TYPE: soc\n1: 1\n", "names no candidates"),
        ("# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: a\n1: 1,2\n", "two candidates one name"),
        ("# ALTERNATIVE NAME 1: a\n", "contains no ballots"),
    ],
)
def test_preflib_that_cannot_be_read(write, text, message):
    with pytest.raises(InputError, match=message):
        read_ranking_file(write("x.soc", text))


def annotation(preference: float | None, one: str, two: str, number: int) -> dict[str, Any]:
    row = {"instruction": f"q{number}", "output_1": "x", "output_2": "y", "annotator": "judge"}
    return row | {"generator_1": one, "generator_2": two, "preference": preference}


def test_verdicts_of_other_tools_rank_their_models(write: Write) -> None:
    told = (1, "a", "b"), (2, "a", "b"), (1.5, "a", "c"), (None, "a", "b"), (1, "a", "a")
    rows = [annotation(*one, number) for number, one in enumerate(told)]
    found = read_ranking_file(write("annotations.json", json.dumps(rows)))
    assert found.format == "judgments"
    assert [one.ranking for one in found.ballots] == [(("a",), ("b",)), (("b",), ("a",)), (("a", "c"),)]
    assert {one.voter for one in found.ballots} == {"judge"}
    assert [reject.reason.split(": ", 1)[1].split(" (")[0] for reject in found.rejects] == [
        "no verdict",
        "one model wrote several of the responses",
    ]


def judgment(number: int, verdict: str | None = "A>B", ids: str = "AB", **models: str) -> dict[str, Any]:
    names = ids.split() if " " in ids else list(ids)
    item = {"id": f"q{number}", "question": f"{number}?", "responses": dict.fromkeys(names, "x")}
    why = {} if verdict else {"no_verdict": "unclear"}
    named = item | ({"models": models} if models else {})
    return {"id": f"j{number}", "item": named, "judge": "g", "verdict": verdict, **why}


def test_a_kept_table_ranks_its_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text("p,x,y,w,m,n\n?,a,b,B,gpt,claude\n")
    with pytest.raises(InputError):
        read_ranking_file("v.csv")
    save_map("v.csv", parse_map(["question=p,responses.A=x,responses.B=y,verdict=w,judge:=me,models.A=m,models.B=n"]))
    assert [one.ranking for one in read_ranking_file("v.csv").ballots] == [(("claude",), ("gpt",))]


def test_a_mapping_may_be_given(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("p,x,y,w,m,n\n?,a,b,B,gpt,claude\n")
    mapping = "question=p,responses.A=x,responses.B=y,verdict=w,judge:=me"
    with pytest.raises(InputError, match=r"models\.A=COLUMN,models\.B=COLUMN"):
        read_ranking_file(path, parse_map([mapping]))
    found = read_ranking_file(path, parse_map([mapping + ",models.A=m,models.B=n"]))
    assert [one.ranking for one in found.ballots] == [(("claude",), ("gpt",))]


def test_our_own_judgments_rank_their_models_and_never_the_places_of_their_responses(write: Write) -> None:
    found = read_ranking_file(write("j.jsonl", judgment(1, A="gpt", B="claude"), judgment(2, A="claude", B="gpt")))
    assert found.format == "judgments"
    assert [one.ranking for one in found.ballots] == [(("gpt",), ("claude",)), (("claude",), ("gpt",))]
    with pytest.raises(InputError, match="2 judgments do not name the models"):
        read_ranking_file(write("j.jsonl", judgment(1), judgment(2)))


PLACES = "A B,a b,1 2,A0 A1,left right,response_a response_b,output_1 output_2,Model-A Model-B,m M"


@pytest.mark.parametrize("ids", PLACES.split(","))
def test_places_are_no_candidates(write: Write, ids: str) -> None:
    first, second = ids.split()
    rows = [judgment(number, f"{first}>{second}", ids) for number in (1, 2)]
    with pytest.raises(InputError, match="do not name the models"):
        read_ranking_file(write("j.jsonl", *rows))


def test_ids_that_recur_as_candidates_are_ranked(write: Write) -> None:
    rows = [judgment(number, "gpt-4o>claude-3", "gpt-4o claude-3") for number in (1, 2)]
    assert [one.ranking for one in read_ranking_file(write("j.jsonl", *rows)).ballots] == [
        (("gpt-4o",), ("claude-3",))
    ] * 2
    assert are_slots(("o1", "r1"))
    assert not are_slots(("o1", "claude-3"))


def test_ids_that_stand_in_one_item_each_are_no_candidates(write: Write) -> None:
    rows = [judgment(number, f"x-{number}a>x-{number}b", f"x-{number}a x-{number}b") for number in (1, 2)]
    with pytest.raises(InputError, match="do not name the models"):
        read_ranking_file(write("j.jsonl", *rows))


def test_of_a_mix_those_without_models_are_left_out_and_counted(write: Write) -> None:
    rows = [
        judgment(1, A="gpt", B="claude"),
        judgment(2),
        judgment(3, "gpt>claude", "gpt claude"),
        judgment(4, None, A="gpt", B="claude"),
        judgment(5, A="gpt"),
    ]
    found = read_ranking_file(write("j.jsonl", *rows))
    assert len(found.ballots) == 1
    assert [reject.line for reject in found.rejects] == [2, 3, 4, 5]
    assert ["item.models" in reject.reason for reject in found.rejects] == [True, True, False, True]
