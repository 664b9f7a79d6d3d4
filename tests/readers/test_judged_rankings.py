import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import parse_map
from metajudge.readers.ranking_files import read_ranking_file
from metajudge.readers.rankings import are_slots
from metajudge.readers.saved_maps import save_map


def annotation(preference: float | None, one: str, two: str, number: int) -> dict[str, Any]:
    return {
        "instruction": f"q{number}",
        "output_1": "x",
        "output_2": "y",
        "generator_1": one,
        "generator_2": two,
        "annotator": "judge",
        "preference": preference,
    }


def test_verdicts_of_other_tools_rank_their_models(tmp_path: Path) -> None:
    path = tmp_path / "annotations.json"
    rows = [
        annotation(1, "a", "b", 1),
        annotation(2, "a", "b", 2),
        annotation(1.5, "a", "c", 3),
        annotation(None, "a", "b", 4),
    ]
    path.write_text(json.dumps([*rows, annotation(1, "a", "a", 5)]))
    found = read_ranking_file(path)
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
    return {
        "id": f"j{number}",
        "item": item | ({"models": models} if models else {}),
        "judge": "g",
        "verdict": verdict,
    } | why


def written(tmp_path: Path, *rows: dict[str, Any]) -> Path:
    path = tmp_path / "j.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


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


def test_our_own_judgments_rank_their_models_and_never_the_places_of_their_responses(tmp_path: Path) -> None:
    found = read_ranking_file(written(tmp_path, judgment(1, A="gpt", B="claude"), judgment(2, A="claude", B="gpt")))
    assert found.format == "judgments"
    assert [one.ranking for one in found.ballots] == [(("gpt",), ("claude",)), (("claude",), ("gpt",))]
    with pytest.raises(InputError, match="2 judgments do not name the models"):
        read_ranking_file(written(tmp_path, judgment(1), judgment(2)))


@pytest.mark.parametrize(
    "ids",
    [
        "A B",
        "a b",
        "1 2",
        "A0 A1",
        "left right",
        "response_a response_b",
        "output_1 output_2",
        "Model-A Model-B",
        "m M",
    ],
)
def test_places_are_no_candidates(tmp_path: Path, ids: str) -> None:
    first, second = ids.split()
    rows = [judgment(number, f"{first}>{second}", ids) for number in (1, 2)]
    with pytest.raises(InputError, match="do not name the models"):
        read_ranking_file(written(tmp_path, *rows))


def test_ids_that_recur_as_candidates_are_ranked(tmp_path: Path) -> None:
    rows = [judgment(number, "gpt-4o>claude-3", "gpt-4o claude-3") for number in (1, 2)]
    assert [one.ranking for one in read_ranking_file(written(tmp_path, *rows)).ballots] == [
        (("gpt-4o",), ("claude-3",))
    ] * 2
    assert are_slots(("o1", "r1"))
    assert not are_slots(("o1", "claude-3"))


def test_ids_that_stand_in_one_item_each_are_no_candidates(tmp_path: Path) -> None:
    rows = [judgment(number, f"x-{number}a>x-{number}b", f"x-{number}a x-{number}b") for number in (1, 2)]
    with pytest.raises(InputError, match="do not name the models"):
        read_ranking_file(written(tmp_path, *rows))


def test_of_a_mix_those_without_models_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [
        judgment(1, A="gpt", B="claude"),
        judgment(2),
        judgment(3, "gpt>claude", "gpt claude"),
        judgment(4, None, A="gpt", B="claude"),
        judgment(5, A="gpt"),
    ]
    found = read_ranking_file(written(tmp_path, *rows))
    assert len(found.ballots) == 1
    assert [reject.line for reject in found.rejects] == [2, 3, 4, 5]
    assert ["item.models" in reject.reason for reject in found.rejects] == [True, True, False, True]
