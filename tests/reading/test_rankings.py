"""Files of rankings: JSONL, CSV, PrefLib, and judgments as ballots."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.reading import parse_map
from metajudge.reading.rankings import RankingFile, are_slots, ranking_from_text, read_ranking_file, weight_of
from metajudge.reading.saved_maps import save_map
from tests.reading.conftest import Write


def ballots(found: RankingFile) -> list[str]:
    """Each ballot as ``b > a = c``, with its weight before it where that is not 1."""
    orders = (" > ".join(" = ".join(group) for group in one.ranking) for one in found.ballots)
    return [
        f"{one.weight}: {order}" if one.weight != 1 else order for one, order in zip(found.ballots, orders, strict=True)
    ]


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
DISHES = ["3: Apple pie > Bread, with salt = Cake", "2: Cake > Bread, with salt > Apple pie"]


@pytest.mark.parametrize(
    ("name", "text", "form", "candidates", "expected"),
    [
        ("x.jsonl", '["a", "b", ["c", "d"]]\n\n["b", "a"]', "jsonl", None, ["a > b > c = d", "b > a"]),
        ("x.csv", "voter,weight,ranking\nx,2,b > a=c\ny,,a>b", "csv", None, ["2: b > a = c", "a > b"]),
        # A column a candidate: lower ranks first, and empty cells are not ranked.
        ("x.csv", "judge,a,b,c\nx,2,1,10\ny,1,1,\nz,,,3", "csv", ("a", "b", "c"), ["b > a > c", "a = b", "c"]),
        ("x.csv", "voter,candidate,rank\nx,a,2\ny,a,1\nx,b,1\ny,b,1", "csv", None, ["b > a", "a = b"]),
        ("x.tsv.gz", "\ufeffvoter\tranking\nx\ta > b", "csv", None, ["a > b"]),
        ("x.toc", PREFLIB, "preflib", ("Apple pie", "Bread, with salt", "Cake"), DISHES),
        ("x.txt", PREFLIB, "preflib", ("Apple pie", "Bread, with salt", "Cake"), DISHES),
        (
            "x.toi",
            "3\n1,Apple\n2,Bread\n3,Cake\n5,5,2\n3,1,{2,3}\n2,3",
            "preflib",
            ("Apple", "Bread", "Cake"),
            ["3: Apple > Bread = Cake", "2: Cake"],
        ),
    ],
)
def test_each_form_gives_its_ballots(
    write: Write, name: str, text: str, form: str, candidates: tuple[str, ...] | None, expected: list[str]
) -> None:
    found = read_ranking_file(write(name, text, packed=name.endswith(".gz")))
    assert (found.format, found.candidates, found.rejects) == (form, candidates, ())
    assert ballots(found) == expected


def test_jsonl_lists_groups_text_weights_and_voters(write: Write) -> None:
    lines = [
        '{"ranking": ["b", "a"], "voter": "x", "question_id": "q1"}',
        '{"verdict": [["b", "c"], ["a"]], "judge": "y", "item": {"id": "q2"}, "weight": 0.1}',
        '{"ranking": "b > a = c", "weight": "1/3"}',
        "",
        '{"verdict": "a>>b"}',
    ]
    found = read_ranking_file(write("b.jsonl", *lines))
    assert (found.format, found.candidates) == ("jsonl", None)
    assert ballots(found) == ["b > a", "1/10: b = c > a", "1/3: b > a = c", "a > b"]
    places = [(ballot.voter, ballot.question, ballot.line) for ballot in found.ballots]
    assert places == [("x", "q1", 1), ("y", "q2", 2), (None, None, 3), (None, None, 5)]


BARE = {
    '["b", "b"]': "'b' twice",
    '"a"': "neither a list nor an object",
    "[]": "is empty",
    '["a"': "not JSON",
    '["a", 1]': "contains 1",
}
LINES = {
    '{"ranking": ["a", "a"]}': "twice",
    '{"ranking": []}': "empty",
    '{"ranking": null}': "null",
    '{"ranking": [["a"], []]}': "empty group",
    '{"ranking": ["a", 1]}': "1, which is not a name",
    '{"ranking": 3}': "neither a list",
    '{"ranking": ["a"], "weight": 0}': "the weight is 0",
    '{"ranking": ["a"], "weight": "many"}': "the weight is 'many'",
    '{"ranking": ["a", NaN]}': "not JSON",
    "half a line": "not JSON",
    '{"winner": "a"}': "neither a list nor an object with 'ranking'",
    '{"ranking": "a > > b"}': "''",
}


@pytest.mark.parametrize(("first", "bad"), [('["a", "b"]', BARE), ('{"ranking": ["a", "b"]}', LINES)])
def test_bad_lines_are_left_out_with_reasons_not_guessed(write: Write, first: str, bad: dict[str, str]) -> None:
    found = read_ranking_file(write("b.jsonl", first, *bad))
    assert [ballot.line for ballot in found.ballots] == [1]
    assert [reject.line for reject in found.rejects] == list(range(2, len(bad) + 2))
    assert all(part in reject.reason for part, reject in zip(bad.values(), found.rejects, strict=True))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("b.csv", "voter,candidate,rank\nx,a,1\nx,a,2\n", "ranks a candidate twice"),
        ("b.csv", "voter,candidate,rank,weight\nx,a,1,1\nx,b,2,3\n", "different weights"),
        ("b.csv", "a,b\n1,first\n", "the rank is 'first'"),
        ("b.csv", "a,b\n,\n1\n", "the row has 1 cells, the header 2"),
        ("b.csv", "voter,ranking\nx,a > a\n", "'a' twice"),
        ("b.csv", "candidate,rank\na,1\n", "need a column that names the voter"),
        ("b.csv", "voter,score\nx,1\n", "make no ballots"),
        ("b.csv", "a,a\n1,2\n", "several columns named 'a'"),
        ("b.csv", "", "has no header"),
        ("x.soc", "nothing of the kind\n", "begins neither with '#'"),
        ("x.soc", "# DATA TYPE: wmd\n# ALTERNATIVE NAME 1: a\n1: 1\n", "of type 'wmd'"),
        ("x.soc", "# DATA TYPE: soc\n1: 1\n", "names no candidates"),
        ("x.soc", "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: a\n1: 1,2\n", "two candidates one name"),
        ("x.soc", "# ALTERNATIVE NAME 1: a\n", "contains no ballots"),
    ],
)
def test_a_file_without_a_ballot_says_why(write: Write, name: str, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_ranking_file(write(name, text))
    with pytest.raises(InputError, match="cannot read"):
        read_ranking_file(f"missing-{name}")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2: 3,2,1\n", "", "announces 5 voters and contains 3: it may be cut off"),
        ("2: 3,2,1", "2: 3,2,4", "candidate 4, which the file does not declare"),
        ("2: 3,2,1", "2: 3,2", "leaves candidates out, and the file is of type toc"),
        ("2: 3,2,1", "2: 3,2,2,1", "names 'Bread, with salt' twice"),
        ("2: 3,2,1", "2: 3,{2,1", "groups are written"),
        ("2: 3,2,1", "many: 3,2,1", "not an order"),
        ("2: 3,2,1", "0: 3,2,1", "not an order"),
        ("DATA TYPE: toc", "DATA TYPE: soc", "has ties, and the file is of type soc"),
    ],
)
def test_preflib_orders_that_contradict_the_file_are_rejected(write: Write, old: str, new: str, message: str) -> None:
    found = read_ranking_file(write("x.txt", PREFLIB.replace(old, new)))
    assert message in found.rejects[0].reason


def test_weights_are_exact_and_strength_does_not_split_places() -> None:
    assert (weight_of(0.1), weight_of("2/6")) == (Fraction(1, 10), Fraction(1, 3))
    assert ranking_from_text("a>>b = c") == (("a",), ("b", "c"))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        *((bad, "weight") for bad in (True, None, "nan", float("inf"), -1, "1/0", [])),
        # Refused before it is expanded.
        *((bad, "between 1e-100 and 1e100") for bad in ("1e999999999", "1e-999999999", "1e400")),
    ],
)
def test_what_is_no_weight_is_refused(weight: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        weight_of(weight)


def test_verdicts_of_other_tools_rank_their_models(write: Write) -> None:
    told = (1, "a", "b"), (2, "a", "b"), (1.5, "a", "c"), (None, "a", "b"), (1, "a", "a")
    row = {"output_1": "x", "output_2": "y", "annotator": "judge"}
    rows = [
        row | {"instruction": f"q{n}", "generator_1": one, "generator_2": two, "preference": preference}
        for n, (preference, one, two) in enumerate(told)
    ]
    found = read_ranking_file(write("annotations.json", json.dumps(rows)))
    assert (found.format, ballots(found)) == ("judgments", ["a > b", "b > a", "a = c"])
    assert {one.voter for one in found.ballots} == {"judge"}
    reasons = [reject.reason.split(": ", 1)[1].split(" (")[0] for reject in found.rejects]
    assert reasons == ["no verdict", "one model wrote several of the responses"]


def judgment(number: int, verdict: str | None = "A>B", ids: str = "A B", **models: str) -> dict[str, Any]:
    item = {"id": f"q{number}", "question": f"{number}?", "responses": dict.fromkeys(ids.split(), "x")}
    why = {} if verdict else {"no_verdict": "unclear"}
    named = item | ({"models": models} if models else {})
    return {"id": f"j{number}", "item": named, "judge": "g", "verdict": verdict, **why}


def test_a_table_ranks_its_models_by_a_mapping_given_or_kept(write: Write) -> None:
    path = write("v.csv", "p,x,y,w,m,n", "?,a,b,B,gpt,claude")
    mapping = "question=p,responses.A=x,responses.B=y,verdict=w,judge:=me"
    with pytest.raises(InputError, match=r"models\.A=COLUMN,models\.B=COLUMN"):
        read_ranking_file(path, parse_map([mapping]))
    whole = parse_map([f"{mapping},models.A=m,models.B=n"])
    assert ballots(read_ranking_file(path, whole)) == ["claude > gpt"]
    with pytest.raises(InputError):
        read_ranking_file(path)


def test_a_kept_mapping_is_found(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("v.csv", "p,x,y,w,m,n", "?,a,b,B,gpt,claude")
    save_map("v.csv", parse_map(["question=p,responses.A=x,responses.B=y,verdict=w,judge:=me,models.A=m,models.B=n"]))
    assert ballots(read_ranking_file("v.csv")) == ["claude > gpt"]


def test_our_own_judgments_rank_their_models_and_ids_that_recur_as_candidates(write: Write) -> None:
    own = judgment(1, A="gpt", B="claude"), judgment(2, A="claude", B="gpt")
    found = read_ranking_file(write("j.jsonl", *own))
    assert (found.format, ballots(found)) == ("judgments", ["gpt > claude", "claude > gpt"])
    named = [judgment(number, "gpt-4o>claude-3", "gpt-4o claude-3") for number in (1, 2)]
    assert ballots(read_ranking_file(write("j.jsonl", *named))) == ["gpt-4o > claude-3"] * 2
    assert (are_slots(("o1", "r1")), are_slots(("o1", "claude-3"))) == (True, False)


PLACES = "A B,a b,1 2,A0 A1,left right,response_a response_b,output_1 output_2,Model-A Model-B,m M,x-#a x-#b"


@pytest.mark.parametrize("ids", PLACES.split(","))
def test_places_and_ids_of_one_item_each_are_no_candidates(write: Write, ids: str) -> None:
    given = [ids.replace("#", str(number)) for number in (1, 2)]
    rows = [judgment(number, ">".join(one.split()), one) for number, one in enumerate(given)]
    with pytest.raises(InputError, match="2 judgments do not name the models"):
        read_ranking_file(write("j.jsonl", *rows))


def test_of_a_mix_those_without_models_are_left_out_and_counted(write: Write) -> None:
    models = {"A": "gpt", "B": "claude"}
    rows = [judgment(1, **models), judgment(2), judgment(3, "gpt>claude", "gpt claude"), judgment(4, None, **models)]
    found = read_ranking_file(write("j.jsonl", *rows, judgment(5, A="gpt")))
    assert [(reject.line, "item.models" in reject.reason) for reject in found.rejects] == [
        *((2, True), (3, True), (4, False), (5, True))
    ]
    assert len(found.ballots) == 1
