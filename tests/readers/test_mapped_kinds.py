"""Tables: categories, scales, several people's labels a row, conversations and what is known of each response."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import Reject, open_judgments, parse_map
from metajudge.types import Category, Grade, Judgment, Message, Pairwise
from tests.readers.conftest import Write

MAP = "question=q,responses.A=a,verdict=v,judge=j"


def read(path: Path, *maps: str, values: tuple[str, ...] = ()) -> list[Judgment | Reject]:
    return list(open_judgments([path], mapping=parse_map([MAP, *maps], values)).scan())


def row(verdict: Any, number: int = 1, **more: Any) -> dict[str, Any]:
    return {"q": "?", "a": f"{number}", "v": verdict, "j": "g"} | more


def verdicts(found: list[Judgment | Reject]) -> list[Any]:
    return [one.verdict.to_json() if isinstance(one, Judgment) and one.verdict else one for one in found]


def test_words_and_booleans_are_categories_numbers_grades_and_absence_no_verdict(write: Write) -> None:
    values: list[Any] = ["pass", " Not Relevant ", True, "False", 4, "3.5", {"category": "5"}, '{"category": "a=b"}']
    values += [None, "", "NaN", "n/a", "null", "None", "<NA>"]
    found = read(write("t.jsonl", *(row(value, n) for n, value in enumerate(values))))
    assert verdicts(found[:8]) == ["pass", "Not Relevant", True, False, 4.0, 3.5, "5", {"category": "a=b"}]
    assert [one.verdict for one in found[8:] if isinstance(one, Judgment)] == [None] * 7


def test_a_meaning_goes_before_a_category(write: Write) -> None:
    path = write("t.jsonl", row("pass", 1), row("fail", 2), row("skipped", 3))
    found = read(path, values=("pass=1", "fail=0", "skipped=none"))
    assert verdicts(found[:2]) == [1.0, Grade(0.0).to_json()]
    assert isinstance(found[2], Judgment)
    assert found[2].verdict is None


def test_many_different_words_are_no_categories(write: Write) -> None:
    path = write("t.jsonl", *(row(f"word {n}", n) for n in range(21)))
    with pytest.raises(InputError, match="are no verdicts here"):
        read(path)
    few = write("f.jsonl", *(row(f"word {n % 20}", n) for n in range(40)))
    assert len(verdicts(read(few))) == 40


def test_a_text_and_a_pairwise_verdict_of_a_single_response_are_refused(write: Write) -> None:
    for value in ("It explains at length why the answer is good.", "A>B", "two\nlines", "[[A>>B]]", "{x", {"a": 1}):
        with pytest.raises(InputError, match="no verdicts here"):
            read(write("t.jsonl", row(value)))


def test_a_scale_is_declared_for_all_rows_or_in_a_column(write: Write) -> None:
    grades = write("t.jsonl", row(4, s="1-5"), row(9, 2, s=[1, 10]), row(7, 3))
    low, off = read(grades, "scale:=1..5")[:2]
    assert low.item.scale == (1.0, 5.0)
    assert "grade 9 lies outside the scale 1 to 5" in off.reason
    found = read(grades, "scale=s")
    assert [one.item.scale for one in found if isinstance(one, Judgment)] == [(1.0, 5.0), (1.0, 10.0), None]
    words = read(write("w.jsonl", row("GOOD"), row("poor", 2)), "scale:=poor<fair<good")
    assert [(one.verdict, one.item.scale) for one in words if isinstance(one, Judgment)] == [
        (Category("good"), ("poor", "fair", "good")),
        (Category("poor"), ("poor", "fair", "good")),
    ]
    with pytest.raises(InputError, match=r"'5\.\.1' is no scale: give the lowest and the highest grade"):
        read(write("b.jsonl", row(1)), "scale:=5..1")


def said(found: Judgment | Reject) -> list[tuple[Any, str | None]]:
    assert isinstance(found, Judgment), found
    return [(one.value.to_json(), one.annotator) for one in found.item.labels]


def test_labels_of_several_people_in_columns_or_in_a_list(write: Write) -> None:
    listed = [{"value": "pass", "annotator": "cy", "time": "2026-11-01T10:00:00Z"}, "fail"]
    path = write(
        "t.jsonl", row("pass", h1="pass", h2=None, l=listed), row("fail", 2, h1="", h2="no", l=json.dumps([1]))
    )
    found = read(path, "label.anna=h1,label.ben=h2,human_labels=l")
    assert said(found[0]) == [("pass", "anna"), ("pass", "cy"), ("fail", None)]
    assert said(found[1]) == [("no", "ben"), (1.0, None)]
    assert isinstance(found[0], Judgment)
    assert found[0].item.labels[1].time is not None
    assert found[0].item.label is None


def test_one_label_a_row_with_its_annotator_makes_one_judgment_of_several_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [
        ("?", "x", "4", "g", "4", "anna", "2026-11-01"),
        ("?", "x", "4", "g", "5", "ben", ""),
        ("?", "x", "2", "h", "", "", ""),
    ]
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([("q", "a", "v", "j", "human", "who", "when"), *rows])
    source = open_judgments([path], mapping=parse_map([MAP, "label=human,annotator=who,label_time=when"]))
    found = list(source)
    assert [(one.judge, one.verdict) for one in found] == [("g", Grade(4)), ("h", Grade(2))]
    assert [said(one) for one in found] == [[(4.0, "anna"), (5.0, "ben")]] * 2
    assert source.duplicates == 1
    assert source.rejects == 0


def test_the_names_a_judge_gave_the_responses_are_no_labels(write: Write) -> None:
    pair = {"q": "?", "a": "x", "b": "y", "v": "A", "j": "g", "labels": ["m", "n"]}
    path = write("t.jsonl", pair, pair | {"a": "z", "labels": [{"value": "B", "annotator": "ben"}]})
    names, people = read(path, "responses.B=b,labels=labels")
    assert (names.labels, names.item.labels) == (("m", "n"), ())
    assert [one.value for one in people.item.labels] == [Pairwise("B", "A", 1)]


def test_a_question_with_several_responses_keeps_its_id(write: Write) -> None:
    rows = [row(n, n, model=f"m{n}", qid="q1") for n in (1, 2)]
    found = read(write("t.jsonl", *rows), "question_id=qid,models.A=model")
    assert [one.item.id for one in found if isinstance(one, Judgment)] == ["q1/m1", "q1/m2"]


def test_messages_and_metadata_of_responses_survive(write: Write) -> None:
    chat = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Why?"},
    ]
    path = write("t.jsonl", {"q": chat, "a": "So.", "v": 3, "j": "g", "t": 12, "o": {"cost": 0.5}})
    (found,) = read(path, "metadata.A.tokens=t,metadata.A=o")
    assert found.item.conversation == tuple(Message(**one) for one in chat)
    assert found.item.metadata == {"A": {"tokens": 12, "cost": 0.5}}
    answers = [*chat, {"role": "assistant", "content": "So."}]
    (whole,) = read(write("w.jsonl", {"q": "Why?", "a": answers, "v": 3, "j": "g"}))
    assert [one.role for one in whole.item.conversation] == ["system", "user", "user"]
    assert [one.content for one in whole.item.conversation] == ["Be brief.", "Hi", "Why?"]


def test_frames_read_people_as_the_command_line_does() -> None:
    pandas = pytest.importorskip("pandas")
    from metajudge.readers.frames import from_pandas

    rows = [row("pass", human="fail", who=name) for name in ("anna", "ben")]
    (one,) = from_pandas(pandas.DataFrame(rows), f"{MAP},label=human,annotator=who")
    assert said(one) == [("fail", "anna"), ("fail", "ben")]
    scored = [row("pass", name="ok", annotator_kind=kind, label="fail", identifier="cy") for kind in ("LLM", "HUMAN")]
    (one,) = from_pandas(pandas.DataFrame(scored), MAP)
    assert said(one) == [("fail", "cy")]
    with pytest.warns(UserWarning, match="no judge's verdict is about the same item"):
        from_pandas(pandas.DataFrame([scored[0], scored[1] | {"a": "other"}]), MAP)
