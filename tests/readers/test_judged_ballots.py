import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import parse_map
from metajudge.readers.ballots import read_ballots
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
    found = read_ballots(path)
    assert found.format == "judgments"
    assert [one.ranking for one in found.ballots] == [(("a",), ("b",)), (("b",), ("a",)), (("a", "c"),)]
    assert {one.voter for one in found.ballots} == {"judge"}
    assert [reject.reason.split(": ", 1)[1].split(" (")[0] for reject in found.rejects] == [
        "no verdict",
        "one model wrote several of the responses",
    ]


def test_a_kept_table_is_one_too_and_responses_stand_for_unnamed_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text("p,x,y,w\n?,a,b,B\n")
    with pytest.raises(InputError):
        read_ballots("v.csv")
    save_map("v.csv", parse_map(["question=p,responses.A=x,responses.B=y,verdict=w,judge:=me"]))
    assert [one.ranking for one in read_ballots("v.csv").ballots] == [(("B",), ("A",))]


def test_ballots_and_our_own_judgments_are_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    path.write_text('{"ranking": "B > A", "voter": "v"}\n')
    assert read_ballots(path).format == "jsonl"
    item = {"id": "q", "question": "?", "responses": {"A": "x", "B": "y"}}
    path.write_text(json.dumps({"id": "j", "item": item, "judge": "g", "verdict": "A>B"}) + "\n")
    assert read_ballots(path).format == "jsonl"
