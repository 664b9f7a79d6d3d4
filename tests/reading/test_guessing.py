"""Guesses at the columns of a table."""

from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.reading import FieldMap, open_judgments
from metajudge.reading.containers.lines import Line
from metajudge.reading.guesses import Guess
from metajudge.reading.guessing import guess_mapping
from metajudge.reading.names import is_judges_name, is_label_name
from tests.reading.conftest import Write

PAIR = {"prompt": "?", "output_1": "x", "output_2": "y", "judge": "g"}
SINGLE = {"question": "?", "response": "x", "judge": "g"}
UNSAID = "no column looks like a verdict: --map verdict=COLUMN"


def guessed(*rows: dict[str, Any]) -> Guess:
    return guess_mapping(list(rows[0]), [Line(number, b"", row) for number, row in enumerate(rows, start=1)])


def chat(said: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": said}]


CHATS = {"conversation_a": chat("4"), "conversation_b": chat("5"), "winner": "model_a", "judge": "someone"}
IDS = PAIR | {"winner": "A", "id": 1, "item_id": 7}
OWN = [SINGLE | {"response": str(n), "score": n % 2, "label": ["bad", "good"][n % 2]} for n in range(6)]


@pytest.mark.parametrize(
    ("rows", "expected", "absent"),
    [
        # The column whose values are verdicts goes first; of many words none is one.
        ([PAIR | {"preference": "strong", "winner": "A"}], "verdict=winner", ""),
        (
            [SINGLE | {"response": str(n), "score": f"w{n}", "verdict": "pass"} for n in range(30)],
            "verdict=verdict",
            "",
        ),
        # A column a judge, a criterion, or both; the reason beside it.
        (
            [
                {
                    "id": n,
                    "question": f"{n}?",
                    "response": "x",
                    "gpt-4": n,
                    "Claude 3": n,
                    "gpt-4 reason": "r",
                    "human": n,
                }
                for n in (1, 2)
            ],
            "verdict.gpt-4=gpt-4|verdict.Claude 3=Claude 3|rationale.gpt-4=gpt-4 reason|label=human",
            "judge verdict",
        ),
        (
            [SINGLE | {"relevance_judge": 1, "relevance_human": 2, "tone_judge": 3}],
            "verdict@relevance=relevance_judge label@relevance=relevance_human verdict@tone=tone_judge",
            "verdict label",
        ),
        ([SINGLE | {"helpfulness": 1, "clarity": 2}], "verdict@helpfulness=helpfulness verdict@clarity=clarity", ""),
        ([PAIR | {"rank_A": 1, "rank_B": 2}], "verdict=ranks:rank_A,rank_B", ""),
        (
            [{"instruction": "Do", "input": "x", "response": "y", "judge": "g", "score": 1}],
            "question=texts:instruction,input verdict=score",
            "",
        ),
        (
            [{"model_a": "m", "model_b": "n", "winner": "model_a", "judge": "g", "id": 1}],
            "models.A=model_a models.B=model_b verdict=winner id=id",
            "responses.A",
        ),
        # Of a path the part before the last may say the side: two header rows make such names.
        (
            [
                {
                    "question": "?",
                    "A.answer": "x",
                    "B.answer": "y",
                    "Model A.name": "m",
                    "Model B.name": "n",
                    "judge": "g",
                }
                | {"winner": "A"}
            ],
            "responses.A=A.answer|responses.B=B.answer|models.A=Model A.name|models.B=Model B.name",
            "",
        ),
        # A judge's score or label is the verdict, and a person's the label; what people said together is no verdict.
        ([SINGLE | {"judge_score": 4, "score": 2, "human_score": 5}], "verdict=judge_score label=human_score", ""),
        ([SINGLE | {"llm_label": "pass", "expert": "fail"}], "verdict=llm_label label=expert", ""),
        ([PAIR | {"judge_winner": "A", "human_winner": "B"}], "verdict=judge_winner label=human_winner", ""),
        *(
            ([PAIR | {name: "model_a"}, PAIR | {name: "model_b"}], f"label={name}", "verdict")
            for name in ("majority_human", "annotator_majority", "majority_vote", "human_majority")
        ),
        # A label beside a judge is its verdict only where nothing else is.
        ([SINGLE | {"label": "pass"}], "verdict=label", "label"),
        (
            [{"question": "?", "response": "x", "score": 3, "label": 4, "annotator": "anna"}],
            "verdict=score label=label annotator=annotator",
            "judge",
        ),
        (OWN, "verdict=score", "label"),
        ([OWN[0] | {"label": "good"}, *OWN[1:]], "label=label", ""),
        # Several people are several labels; lists are too, and texts are not.
        ([SINGLE | {"score": 1, "human_1": 2, "human_2": 3}], "label.human_1=human_1 label.human_2=human_2", "label"),
        (
            [PAIR | {"winner": one, "human_anna": "A", "human_ben": one, "human_edits": one * 2} for one in "AB"],
            "label.human_anna=human_anna label.human_ben=human_ben",
            "label label.human_edits",
        ),
        ([SINGLE | {"score": 1, "labels": [1, 2]}], "human_labels=labels", ""),
        ([SINGLE | {"score": 1, "human_rating": "It is a good answer. " * 20}], "", "label"),
        # An id of several rows is none, or the item's, or the question's.
        ([IDS, IDS | {"output_1": "z"}], "", "id item_id"),
        ([IDS, IDS | {"id": 2}], "item_id=item_id", ""),
        ([SINGLE | {"id": 1, "judge": name, "score": 1} for name in "gh"], "item_id=id", ""),
        (
            [SINGLE | {"id": 1, "response": name, "model": name, "score": 1} for name in "mn"],
            "question_id=id models.A=model",
            "id item_id",
        ),
        # Of chats without a question the first message is the question.
        ([CHATS], "question=conversation_a.0.content", ""),
        ([CHATS | {"conversation_a": "4", "conversation_b": "5"}], "", "question"),
    ],
)
def test_columns_are_taken_by_names_and_values(rows: list[dict[str, Any]], expected: str, absent: str) -> None:
    found = guessed(*rows).mapping.columns
    assert dict(one.split("=") for one in expected.split("|" if "|" in expected else None)).items() <= found.items()
    assert not found.keys() & set(absent.split())


@pytest.mark.parametrize("values", [(1, 2, 1.5), (0, 1), (0, 1, 2), (0, 1, -1), ("A", "C"), ("left", "right", "1")])
@pytest.mark.parametrize(("name", "more"), [("preference", {}), ("human_winner", {"winner": "A"})])
def test_a_number_or_a_mark_has_no_meaning_by_itself(name: str, more: dict[str, Any], values: tuple[Any, ...]) -> None:
    found = guessed(*(PAIR | more | {name: value} for value in (*values, values[0])))
    assert found.mapping.values == {}
    unknown = [str(value) for value in values if value not in ("A", "left", "right")]
    assert all(f"{value} (" in found.problems[0] and f"{value}=MEANING" in found.problems[0] for value in unknown)
    assert (
        f" no {'label' if more else 'verdict'}{'s' * (len(unknown) > 1)} here: say what each means" in found.problems[0]
    )


@pytest.mark.parametrize(
    ("rows", "problems"),
    [
        ([CHATS], []),
        ([PAIR | {"majority_human": "model_a"}], [UNSAID]),
        (OWN, ["'label' says in other words what 'score' says, so it is taken for the judge's own"]),
        (
            [{"text": "1", "a": "2"}],
            [
                UNSAID,
                "no column looks like the question",
                "no column names the judge",
                "no column looks like a response",
            ],
        ),
    ],
)
def test_what_no_column_says_is_a_problem(rows: list[dict[str, Any]], problems: list[str]) -> None:
    found = guessed(*rows).problems
    assert all(one.startswith(want) for one, want in zip(found, problems, strict=True)), found


KINDS = {
    "label human human_score Human-Rating human_1 gold gold_label expert expert_2 annotator_1 ground_truth score_human": (
        1,
        0,
    ),
    "judge_score llm_score judge_label LLM-label auto_score judge_verdict gpt4_score ai_rating": (0, 1),
    "annotator person score verdict judge rationale gold_answer human_answer response labels judge_model expertise": (
        0,
        0,
    ),
}


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for names, kind in KINDS.items() for name in names.split()])
def test_whose_value_a_name_says_it_is(name: str, kind: tuple[int, int]) -> None:
    assert (is_label_name(name), is_judges_name(name)) == kind


HEAD = "item_id,question,response,judge,grade,timestamp,model_version"
ROWS = [f"q{n},What is {n}?,{n}.,owl,{n % 5},2026-01-0{1 + n % 9},v1" for n in range(20)]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_usual_names_are_read_with_time_and_version_beside(write: Write) -> None:
    mapping = open_judgments([write("a.csv", HEAD, *ROWS).name]).mapping
    taken = {"verdict": "grade", "meta.time": "timestamp", "meta.judge_version": "model_version"}
    assert taken.items() <= mapping.columns.items()
    assert mapping.constants == {}
    # One judge without a column is named after the file.
    bare = [line.replace(",owl,", ",").replace(",judge,", ",") for line in (HEAD, *ROWS)]
    assert open_judgments([write("gpt-4o.csv", *bare).name]).mapping.constants == {"judge": "gpt-4o"}
    # Where rows are labels of several people, the time may be the label's.
    people = [f"{line},anna,{line[-1]}" for line in ROWS]
    mapping = open_judgments([write("p.csv", f"{HEAD},annotator,label", *people).name]).mapping
    assert "meta.time" not in mapping.columns


def test_what_is_given_goes_before_the_guess(write: Write) -> None:
    table = write("a.csv", f"{HEAD},second", *(f"{line},4" for line in ROWS)).name
    given = open_judgments([table], mapping=FieldMap(columns={"verdict": "second"}, constants={"judge": "elm"}))
    assert {(str(one.verdict), one.judge) for one in given} == {("4", "elm")}
    bare = write("b.csv", HEAD.replace("grade", "zeta"), *ROWS).name
    with pytest.raises(InputError, match=r"Missing: verdict\. Give --map .*judge:=elm"):
        open_judgments([bare], mapping=FieldMap(constants={"judge": "elm"}))
