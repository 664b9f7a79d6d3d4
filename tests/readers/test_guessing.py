"""Guesses at the columns of a table."""

from typing import Any

import pytest

from metajudge.readers.guessed_values import is_judges_name, is_label_name
from metajudge.readers.guessing import Guess, guess_mapping
from metajudge.readers.inspection import guess_table, guess_tables
from metajudge.readers.lines import Line


def guessed(*rows: dict[str, Any]) -> Guess:
    return guess_mapping(list(rows[0]), [Line(number, b"", row) for number, row in enumerate(rows, start=1)])


def test_the_column_whose_values_are_verdicts_goes_first() -> None:
    row = {"prompt": "?", "response_a": "x", "response_b": "y", "preference": "strong", "winner": "A", "judge": "g"}
    assert guessed(row).mapping.columns["verdict"] == "winner"


@pytest.mark.parametrize("values", [(1, 2, 1.5), (0, 1), (0, 1, 2), (0, 1, -1), ("A", "C"), ("left", "right", "1")])
def test_a_number_or_a_mark_has_no_meaning_by_itself(values: tuple[Any, ...]) -> None:
    row = {"prompt": "?", "output_1": "x", "output_2": "y", "judge": "g"}
    found = guessed(*(row | {"preference": value} for value in values), row | {"preference": values[0]})
    assert found.mapping.values == {}
    unknown = [str(value) for value in values if value != "A"]
    assert all(f"{value!r} (" in found.problems[0] for value in unknown)
    assert "are no verdicts here: say what each means" in found.problems[0]
    assert all(f"{value}=MEANING" in found.problems[0] for value in unknown)


def test_labels_are_asked_about_as_verdicts_are() -> None:
    row = {"prompt": "?", "output_1": "x", "output_2": "y", "judge": "g", "winner": "A"}
    found = guessed(row | {"human_winner": 0}, row | {"human_winner": 1})
    assert "'0' (1), '1' (1) in 'human_winner' are no labels here" in found.problems[0]
    assert found.mapping.values == {}


def test_what_people_said_together_is_no_verdict() -> None:
    row = {"prompt": "?", "output_a": "x", "output_b": "y", "judge": "g"}
    for name in ("majority_human", "annotator_majority", "majority_vote", "human_majority"):
        found = guessed(row | {name: "model_a"}, row | {name: "model_b"})
        assert found.mapping.columns["label"] == name
        assert found.problems == ["no column looks like a verdict: --map verdict=COLUMN"]


def test_what_nobody_said_is_a_problem() -> None:
    found = guessed({"text": "1", "a": "2"})
    assert [problem.split(":")[0] for problem in found.problems] == [
        "no column looks like a verdict",
        "no column looks like the question",
        "no column names the judge",
        "no column looks like a response",
    ]


def test_an_id_that_names_several_rows_is_no_id() -> None:
    row = {"prompt": "?", "output_1": "x", "output_2": "y", "winner": "A", "judge": "g", "id": 1, "item_id": 7}
    columns = guessed(row, row | {"output_1": "z"}).mapping.columns
    assert "id" not in columns
    assert "item_id" not in columns
    assert guessed(row, row | {"id": 2}).mapping.columns["item_id"] == "item_id"


def test_of_chats_without_a_question_the_first_message_is_the_question() -> None:
    def chat(said: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": said}]

    row = {"conversation_a": chat("4"), "conversation_b": chat("5"), "winner": "model_a", "judge": "someone"}
    found = guessed(row)
    assert found.mapping.columns["question"] == "conversation_a.0.content"
    assert found.problems == []
    assert "question" not in guessed({**row, "conversation_a": "4", "conversation_b": "5"}).mapping.columns


GRADED = {"question": "?", "response": "x", "judge": "g"}


def columns(*rows: dict[str, Any]) -> dict[str, str]:
    return guessed(*rows).mapping.columns


def test_a_judges_score_or_label_is_the_verdict_and_a_persons_the_label() -> None:
    found = columns(GRADED | {"judge_score": 4, "score": 2, "human_score": 5})
    assert (found["verdict"], found["label"]) == ("judge_score", "human_score")
    found = columns(GRADED | {"llm_label": "pass", "expert": "fail"})
    assert (found["verdict"], found["label"]) == ("llm_label", "expert")
    found = columns({"prompt": "?", "output_a": "x", "output_b": "y", "judge_winner": "A", "human_winner": "B"})
    assert (found["verdict"], found["label"]) == ("judge_winner", "human_winner")


def test_a_label_beside_a_judge_is_its_verdict_only_where_nothing_else_is() -> None:
    found = columns(GRADED | {"label": "pass"})
    assert found["verdict"] == "label"
    assert "label" not in found
    people = columns({"question": "?", "response": "x", "score": 3, "label": 4, "annotator": "anna"})
    assert (people["verdict"], people["label"], people["annotator"]) == ("score", "label", "annotator")
    assert "judge" not in people


def test_a_label_that_is_the_score_in_other_words_is_the_judges_own() -> None:
    rows = [GRADED | {"response": str(n), "score": n % 2, "label": ["bad", "good"][n % 2]} for n in range(6)]
    found = guessed(*rows)
    assert "label" not in found.mapping.columns
    assert any("is taken for the judge's own" in problem for problem in found.problems)
    rows[0]["label"] = "good"
    assert columns(*rows)["label"] == "label"


def test_several_people_are_several_labels_and_lists_are_too() -> None:
    found = columns(GRADED | {"score": 1, "human_1": 2, "human_2": 3})
    assert {name for name in found if name.startswith("label")} == {"label.human_1", "label.human_2"}
    assert columns(GRADED | {"score": 1, "labels": [1, 2]})["human_labels"] == "labels"
    assert "label" not in columns(GRADED | {"score": 1, "human_rating": "It is a good answer. " * 20})


def test_an_id_of_several_rows_is_the_items_or_the_questions() -> None:
    judges = [GRADED | {"id": 1, "judge": name, "score": 1} for name in ("g", "h")]
    assert columns(*judges)["item_id"] == "id"
    models = [GRADED | {"id": 1, "response": name, "model": name, "score": 1} for name in ("m", "n")]
    found = columns(*models)
    assert (found["question_id"], found["models.A"]) == ("id", "model")
    assert "id" not in found
    assert "item_id" not in found


def test_words_of_a_verdict_are_understood_unless_there_are_many() -> None:
    found = guessed(*(GRADED | {"response": str(n), "score": f"w{n}", "verdict": "pass"} for n in range(30)))
    assert found.mapping.columns["verdict"] == "verdict"


PEOPLE = (
    "label human human_score Human-Rating human_1 gold gold_label expert expert_2 annotator_1 ground_truth score_human"
)
JUDGES = "judge_score llm_score judge_label LLM-label auto_score judge_verdict gpt4_score ai_rating"
NEITHER = (
    "annotator person score verdict judge rationale gold_answer human_answer response labels judge_model expertise"
)


KINDS = [(PEOPLE, (True, False)), (JUDGES, (False, True)), (NEITHER, (False, False))]


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for names, kind in KINDS for name in names.split()])
def test_whose_value_a_name_says_it_is(name: str, kind: tuple[bool, bool]) -> None:
    assert (is_label_name(name), is_judges_name(name)) == kind


HEAD = "item_id,question,response,judge,grade,timestamp,model_version\n"
ROWS = "".join(f"q{n},What is {n}?,{n}.,owl,{n % 5},2026-01-0{1 + n % 9},v1\n" for n in range(20))


@pytest.fixture
def table(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda name, text: write(name, text).name


def test_usual_names_are_read_with_time_and_version_beside(table):
    mapping = guess_table(table("a.csv", HEAD + ROWS))
    assert mapping.columns["verdict"] == "grade"
    assert mapping.columns["meta.time"] == "timestamp"
    assert mapping.columns["meta.judge_version"] == "model_version"
    assert mapping.constants == {}


def test_one_judge_without_a_column_is_named_after_the_file(table):
    text = "".join(line.replace(",owl,", ",").replace(",judge,", ",") + "\n" for line in (HEAD + ROWS).splitlines())
    assert guess_table(table("gpt-4o.csv", text)).constants == {"judge": "gpt-4o"}


def test_a_guess_that_leaves_many_rows_unread_is_none(table):
    bad = "".join(f"x{n},,,,perhaps,,\n" for n in range(10))
    assert guess_table(table("a.csv", HEAD + ROWS + bad)) is None


def test_known_formats_and_unlike_tables_need_or_get_no_guess(table):
    other = table("b.csv", "qid,prompt,output_1,output_2,judge,winner\n1,x,y,z,owl,A\n")
    assert guess_tables([table("a.csv", HEAD + ROWS), other]) is None
    assert guess_tables(["-"]) is None
    assert guess_tables(["missing.csv"]) is None
