import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.readers.lines import Reject
from metajudge.types import Judgment

ENTRY = {"input": "Name a fruit.", "output_1": "apple", "output_2": "car", "label": 1}


def stage(first: str | None, second: str | None, text: str = "Output (a) is better.") -> dict[str, Any]:
    return {
        "swap = False": {"completion": [text, "stop"], "winner": first},
        "swap = True": {"completion": [text, "stop"], "winner": second},
    }


def save(tmp_path: Path, strategy: str, *results: Any, folder: str = "Dataset/LLMBar/Natural") -> Path:
    path = tmp_path / folder / "evaluators" / "GPT-4" / strategy / "result.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([{**ENTRY, "results": result} for result in results], indent=2))
    return path


def test_winner_is_recorded_in_stored_order_and_must_not_be_turned_back_twice(tmp_path: Path) -> None:
    # Shown first both times, and preferred both times: "1" unswapped and, already turned back, "2" swapped.
    path = save(tmp_path, "CoT", [stage("1", "2")])
    first, second = open_judgments([path])
    assert (str(first.verdict), first.order, first.correct) == ("A>B", ("A", "B"), True)
    assert (str(second.verdict), second.order, second.correct) == ("B>A", ("B", "A"), False)
    # The text speaks of the order shown and agrees with both.
    assert (first.meta["text_verdict"], second.meta["text_verdict"]) == ("A>B", "B>A")


def test_ids_and_judges_are_those_of_the_folder_layout(tmp_path: Path) -> None:
    save(tmp_path, "Swap", [stage("1", "2"), stage("1", "1")])
    save(tmp_path, "Metrics_Reference", [["metrics", "stop"], ["reference", "stop"], stage("1", None)])
    source = open_judgments([tmp_path])
    found = list(source)
    prefix = "LLMBar/Natural/0000/GPT-4"
    assert [judgment.id.removeprefix(prefix) for judgment in found] == [
        "/Metrics_Reference/AB",
        "/Metrics_Reference/BA",
        "/Swap#1/AB",
        "/Swap#1/BA",
        "/Swap#2/AB",
        "/Swap#2/BA",
    ]
    assert [judgment.meta["final"] for judgment in found] == [True, True, False, False, True, True]
    assert found[1].no_verdict == "no verdict could be read from the judge's answer (finish: stop)"
    assert found[0].item.category == "LLMBar/Natural"
    # Swap's second stage asks for the verdict only: its text states none.
    assert [("text_verdict" in judgment.meta) for judgment in found] == [False, False, True, True, False, False]
    assert source.formats == {str(tmp_path): "LLMBar result.json"}


def test_ratings_use_the_scores_and_not_the_made_up_games(tmp_path: Path) -> None:
    def rated(first: str, second: str) -> list[Any]:
        made_up = {"swap = False": {"winner": "1"}, "swap = True": {"winner": "2"}}
        return [{"score_1": [first, "stop"], "score_2": [second, "stop"], **made_up}]

    found = list(open_judgments([save(tmp_path, "Rating", rated("7", "7"), rated("3", "9"), rated("", "0"))]))
    assert [judgment.verdict and str(judgment.verdict) for judgment in found] == ["A=B", "B>A", None]
    assert found[2].no_verdict == "the scores cannot be compared: '' and '0'"


def test_bad_entries_are_rejected_with_their_number(tmp_path: Path) -> None:
    path = save(tmp_path, "CoT", [stage("1", "2")], [stage("3", "2")])
    entries = json.loads(path.read_text())
    entries.append({"input": "no results"})
    path.write_text(json.dumps(entries))
    found = list(open_judgments([path]).scan())
    assert [type(entry) for entry in found] == [Judgment, Judgment, Reject, Reject]
    assert [entry.line for entry in found if isinstance(entry, Reject)] == [2, 3]
    assert "winner" in str(found[2])
    assert "missing field 'output_1'" in str(found[3])


def test_a_list_elsewhere_is_no_result_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps([{**ENTRY, "results": []}]))
    with pytest.raises(InputError, match=r"only a path .*/evaluators/MODEL/STRATEGY/"):
        open_judgments([path])


def test_half_a_result_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = save(tmp_path, "CoT", [stage("1", "2")])
    path.write_text(path.read_text()[:-20])
    with pytest.raises(InputError, match=r"result\.json is no valid JSON"):
        open_judgments([path])
