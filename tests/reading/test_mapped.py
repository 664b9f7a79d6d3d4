"""Tables by a mapping: what becomes of a row's cells, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.reading import JudgmentSource, Reject, open_judgments, parse_map
from metajudge.types import Category, Grade, Judgment, Message, Pairwise
from tests.reading.conftest import Table, Write

PAIR = "verdict=winner,question=prompt,responses.A=output_1,responses.B=output_2,judge=who"
SINGLE = "question=q,responses.A=a,verdict=v,judge=j"


def row(**changes: Any) -> dict[str, Any]:
    return {"prompt": "2+2?", "output_1": "4", "output_2": "5", "winner": "A", "who": "gpt", **changes}


def graded(verdict: Any, number: int = 1, **more: Any) -> dict[str, Any]:
    return {"q": "?", "a": f"{number}", "v": verdict, "j": "g"} | more


def opened(path: Path, maps: str = PAIR, *values: str, **options: Any) -> JudgmentSource:
    return open_judgments([path], mapping=parse_map([maps], values), **options)


def read(path: Path, more: str = "", *values: str) -> list[Judgment | Reject]:
    return list(opened(path, f"{SINGLE},{more}".rstrip(","), *values).scan())


def said(found: Judgment | Reject) -> list[tuple[Any, str | None]]:
    assert isinstance(found, Judgment), found
    return [(one.value.to_json(), one.annotator) for one in found.item.labels]


NAMED = {"prompt": "?", "gpt-4o": "x", "llama": "y", "who": "g"}
BY_COLUMN = "verdict=winner,question=prompt,responses.A=gpt-4o,responses.B=llama,judge=who"
M1, M2 = {"m1": "gpt", "m2": "llama"}, {"m1": "llama", "m2": "gpt"}


@pytest.mark.parametrize(
    ("rows", "maps", "values", "verdicts"),
    [
        ([row(), row(winner="tie", prompt="?")], PAIR, "", "A>B A=B"),
        # A model's name is resolved row by row; the columns of responses may be named after the models.
        ([row(winner="llama", **M1), row(winner="llama", **M2)], f"{PAIR},models.A=m1,models.B=m2", "", "B>A A>B"),
        ([NAMED | {"winner": "llama"}, NAMED | {"winner": "gpt-4o"}], BY_COLUMN, "", "B>A A>B"),
        ([NAMED | {"winner": "llama"}], f"{BY_COLUMN},models.A:=gpt-4o,models.B:=llama", "", "B>A"),
        ([row(winner=word) for word in ("Tie", "C", 0.5, None)], PAIR, "C=tie,0.5=none", "A=B A=B None None"),
        (
            [graded("pass", 1), graded("fail", 2), graded("skipped", 3)],
            SINGLE,
            "pass=1,fail=0,skipped=none",
            "1 0 None",
        ),
        ([graded(f"word{n % 20}", n) for n in range(21)], SINGLE, "", " ".join(f"word{n % 20}" for n in range(21))),
    ],
)
def test_cells_become_verdicts(write: Write, rows: list[Any], maps: str, values: str, verdicts: str) -> None:
    source = opened(write("x.jsonl", *rows), maps, *([values] if values else []))
    assert " ".join(str(one.verdict) for one in source) == verdicts
    assert (source.rejects, source.formats.popitem()[1]) == (0, "JSONL, mapped")


def test_ids_are_of_file_and_row_and_one_item_has_one_content(write: Write) -> None:
    rows = [row(), row(who="claude", winner="B"), row(output_1="four")]
    a, b, c = opened(write("votes.2026.jsonl", *rows))
    assert (a.id, b.id, a.judge, b.judge) == ("votes:1", "votes:2", "gpt", "claude")
    assert (a.item, a.item.question, a.item.responses) == (b.item, "2+2?", {"A": "4", "B": "5"})
    assert a.item.id != c.item.id


def test_every_field_is_read(write: Write) -> None:
    full = row(key="j1", q="q1", why="Because.", cat="math", gold="B", ref="4", said="Compare.", m1="x", m2="y")
    more = "id=key,item_id=q,rationale=why,category=cat,label=gold,reference=ref,instruction=said,meta=extra"
    (one,) = opened(write("x.jsonl", full | {"extra": {"k": 1}}), f"{PAIR},{more},models.A=m1,models.B=m2,meta.by=who")
    assert (one.id, one.item.id, one.rationale, one.instruction) == ("j1", "q1", "Because.", "Compare.")
    assert (one.item.category, str(one.item.label), one.item.reference) == ("math", "B>A", "4")
    assert (one.item.models, one.meta) == ({"A": "x", "B": "y"}, {"k": 1, "by": "gpt"})


@pytest.mark.parametrize(
    ("rows", "maps", "words"),
    [
        (
            [row(winner="gpt-4o"), row(winner="gpt-4o"), row()],
            PAIR,
            [
                "winner has gpt-4o (2 times), which is no verdict here, first at",
                "--map models.A=COLUMN,models.B=COLUMN",
            ],
        ),
        (
            [row(winner=word) for word in ("A", "tie", "Tie", "C", 0.5, "C", None)],
            PAIR,
            [
                "winner has C (2 times), 0.5 (1), which are no verdicts here",
                "--map-values C=tie,0.5=tie, where a meaning is A, A>B, tie or none.",
            ],
        ),
        ([graded(f"word {n}", n) for n in range(21)], SINGLE, ["are no verdicts here"]),
        *(
            ([graded(value)], SINGLE, ["no verdict here"])
            for value in (
                "It explains at length why the answer is good.",
                "A>B",
                "two\nlines",
                "[[A>>B]]",
                "{x",
                {"a": 1},
            )
        ),
        ([graded(1)], f"{SINGLE},scale:=5..1", ["'5..1' is no scale: give the lowest and the highest grade"]),
    ],
)
def test_values_that_mean_nothing_stop_with_each_of_them(
    write: Write, rows: list[Any], maps: str, words: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        opened(write("x.jsonl", *rows), maps)
    assert all(one in str(caught.value) for one in words)


def test_an_unknown_word_far_down_is_a_reject_with_the_advice(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metajudge.reading.containers.tables.SURVEYED_ROWS", 2)
    source = opened(write("x.jsonl", row(), row(), row(winner="C"), row()))
    (reject,) = (one for one in source.scan() if isinstance(one, Reject))
    assert (reject.line, source.judgments, json.loads(reject.text)["winner"]) == (3, 3, "C")
    assert reject.reason.startswith("verdict: 'C' is no verdict here")
    assert "--map-values C=tie" in reject.reason


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (row(prompt=None), "question: column 'prompt' is empty"),
        (row(who=""), "judge: column 'who' is empty"),
        (row(output_1=None, output_2=None), "responses: 'output_1', 'output_2' are all empty"),
        (row(order="A,C"), "order names 'C'"),
        (row(m="[1]"), "meta: column 'm' is no JSON object"),
        (row(m="{"), "meta: column 'm' is no JSON object: "),
        ("half", "not JSON"),
    ],
)
def test_a_bad_row_is_reported_with_its_field_and_the_others_go_on(write: Write, bad: Any, reason: str) -> None:
    path, maps = (
        write("x.jsonl", row(), bad, row(who="claude"), row(order="BA", m='{"a": 1}')),
        f"{PAIR},order=order,meta=m",
    )
    source = opened(path, maps)
    (reject,) = (one for one in source.scan() if isinstance(one, Reject))
    assert (reject.file, reject.line, source.judgments) == (str(path), 2, 3)
    assert reason in reject.reason
    with pytest.raises(InputError, match=":2: "):
        list(opened(path, maps, strict=True))


def test_the_order_shown(write: Write) -> None:
    rows = [row(o="BA"), row(o="B, A"), row(o=["B", "A"]), row(o='["B", "A"]'), row(o=None), row(o="", s="true")]
    found = opened(write("x.jsonl", *rows), f"{PAIR},order=o,swapped=s")
    assert [one.order[0] for one in found] == ["B", "B", "B", "B", "A", "B"]


def test_chats_numbers_and_objects_become_text(write: Write) -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    (one,) = opened(write("x.jsonl", row(prompt=chat[:1], output_1=chat, output_2={"a": 1}, who=7)))
    assert (one.item.question, one.item.responses, one.judge) == ("Hi", {"A": "Hello", "B": '{"a":1}'}, "7")


def test_a_csv_file_with_more_than_two_answers_leaves_out_empty_ones(table: Table) -> None:
    path = table(["q", "a", "b", "c", "w", "order"], ["q", 1, 2, "", "A", ""], ["q", 1, "", 3, "C", "ABC"])
    first, second = opened(path, "question=q,responses.A=a,responses.B=b,responses.C=c,verdict=w,judge:=j,order=order")
    assert (first.item.responses, second.item.responses) == ({"A": "1", "B": "2"}, {"A": "1", "B": "", "C": "3"})
    assert str(second.verdict) == "C > A = B"


def test_a_folder_of_tables_is_read_with_a_mapping(tmp_path: Path, write: Write) -> None:
    for name, winner in (("a", "A"), ("b", "B")):
        write(f"runs/{name}.csv", "prompt,output_1,output_2,winner,who", f"?,x,y,{winner},g")
    folder = write("runs/README.md", "# Notes").parent
    with pytest.raises(InputError, match=r"contains no file of judgments \(found: README.md, a.csv, b.csv\)"):
        open_judgments([folder])
    assert [one.id for one in opened(folder)] == ["a:2", "b:2"]


def test_words_and_booleans_are_categories_numbers_grades_and_absence_no_verdict(write: Write) -> None:
    values = ["pass", " Not Relevant ", True, "False", 4, "3.5", {"category": "5"}, '{"category": "a=b"}']
    absent = [None, "", "NaN", "n/a", "null", "None", "<NA>"]
    found = read(write("t.jsonl", *(graded(value, n) for n, value in enumerate([*values, *absent]))))
    said = [one.verdict.to_json() if isinstance(one, Judgment) and one.verdict else None for one in found]
    assert said == ["pass", "Not Relevant", True, False, 4.0, 3.5, "5", {"category": "a=b"}, *([None] * 7)]
    assert all(isinstance(one, Judgment) for one in found)


def test_a_scale_is_declared_for_all_rows_or_in_a_column(write: Write) -> None:
    grades = write("t.jsonl", graded(4, s="1-5"), graded(9, 2, s=[1, 10]), graded(7, 3))
    low, off = read(grades, "scale:=1..5")[:2]
    assert low.item.scale == (1.0, 5.0)
    assert "grade 9 lies outside the scale 1 to 5" in off.reason
    assert [one.item.scale for one in read(grades, "scale=s")] == [(1.0, 5.0), (1.0, 10.0), None]
    words = read(write("w.jsonl", graded("GOOD"), graded("poor", 2)), "scale:=poor<fair<good")
    assert [(one.verdict, one.item.scale) for one in words] == [
        (Category(word), ("poor", "fair", "good")) for word in ("good", "poor")
    ]


def test_labels_of_several_people_in_columns_or_in_a_list(write: Write) -> None:
    listed = [{"value": "pass", "annotator": "cy", "time": "2026-11-01T10:00:00Z"}, "fail"]
    rows = graded("pass", h1="pass", h2=None, l=listed), graded("fail", 2, h1="", h2="no", l=json.dumps([1]))
    first, second = read(write("t.jsonl", *rows), "label.anna=h1,label.ben=h2,human_labels=l")
    assert said(first) == [("pass", "anna"), ("pass", "cy"), ("fail", None)]
    assert said(second) == [("no", "ben"), (1.0, None)]
    assert (first.item.labels[1].time is None, first.item.label) == (False, None)


def test_one_label_a_row_with_its_annotator_makes_one_judgment_of_several_rows(table: Table) -> None:
    rows = [("4", "g", "4", "anna", "2026-11-01"), ("4", "g", "5", "ben", ""), ("2", "h", "", "", "")]
    path = table(["q", "a", "v", "j", "human", "who", "when"], *(("?", "x", *one) for one in rows))
    source = opened(path, f"{SINGLE},label=human,annotator=who,label_time=when")
    found = list(source)
    assert [(one.judge, one.verdict) for one in found] == [("g", Grade(4)), ("h", Grade(2))]
    assert [said(one) for one in found] == [[(4.0, "anna"), (5.0, "ben")]] * 2
    assert (source.duplicates, source.rejects) == (1, 0)


def test_the_names_a_judge_gave_the_responses_are_no_labels(write: Write) -> None:
    pair = graded("A", b="y", labels=["m", "n"])
    path = write("t.jsonl", pair, pair | {"a": "z", "labels": [{"value": "B", "annotator": "ben"}]})
    names, people = read(path, "responses.B=b,labels=labels")
    assert (names.labels, names.item.labels) == (("m", "n"), ())
    assert [one.value for one in people.item.labels] == [Pairwise("B", "A", 1)]


def test_a_question_with_several_responses_keeps_its_id(write: Write) -> None:
    rows = [graded(n, n, model=f"m{n}", qid="q1") for n in (1, 2)]
    found = read(write("t.jsonl", *rows), "question_id=qid,models.A=model")
    assert [one.item.id for one in found] == ["q1/m1", "q1/m2"]


def test_messages_and_metadata_of_responses_survive(write: Write) -> None:
    spoken = [("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello"), ("user", "Why?")]
    chat = [{"role": role, "content": text} for role, text in spoken]
    path = write("t.jsonl", {"q": chat, "a": "So.", "v": 3, "j": "g", "t": 12, "o": {"cost": 0.5}})
    (found,) = read(path, "metadata.A.tokens=t,metadata.A=o")
    assert found.item.conversation == tuple(Message(**one) for one in chat)
    assert found.item.metadata == {"A": {"tokens": 12, "cost": 0.5}}
    answers = [*chat, {"role": "assistant", "content": "So."}]
    (whole,) = read(write("w.jsonl", {"q": "Why?", "a": answers, "v": 3, "j": "g"}))
    assert [(one.role, one.content) for one in whole.item.conversation] == spoken


def test_frames_read_people_as_the_command_line_does() -> None:
    pandas = pytest.importorskip("pandas")
    from metajudge.reading.frames import from_pandas

    rows = [graded("pass", human="fail", who=name) for name in ("anna", "ben")]
    (one,) = from_pandas(pandas.DataFrame(rows), f"{SINGLE},label=human,annotator=who")
    assert said(one) == [("fail", "anna"), ("fail", "ben")]
    scored = [
        graded("pass", name="ok", annotator_kind=kind, label="fail", identifier="cy") for kind in ("LLM", "HUMAN")
    ]
    (one,) = from_pandas(pandas.DataFrame(scored), SINGLE)
    assert said(one) == [("fail", "cy")]
    with pytest.warns(UserWarning, match="no judge's verdict is about the same item"):
        from_pandas(pandas.DataFrame([scored[0], scored[1] | {"a": "other"}]), SINGLE)


@pytest.mark.parametrize(
    ("rows", "maps", "found"),
    [
        (
            [{"id": "0", "q": "?", "a": "x", "one": 4, "two": 5, "h": 4}],
            "id=id,question=q,responses.A=a,verdict.gpt-4=one,verdict.Claude 3=two,label=h",
            [("0/gpt-4", "gpt-4", "4", "4"), ("0/Claude 3", "Claude 3", "5", "4")],
        ),
        (
            [{"id": "000", "tone": 1, "truth": 2, "people": 2}],
            "item_id=id,verdict@tone=tone,verdict@truth=truth,label@truth=people,judge:=g",
            [("t:1/tone", "g", "1", "None"), ("t:1/truth", "g", "2", "2")],
        ),
        ([graded("[4, 4, 3]")], SINGLE, [(f"t:1/{n}", "g", v, "None") for n, v in ((1, "4"), (2, "4"), (3, "3"))]),
        ([{"id": 1, "r": "A>C>B", "j": "g"}], "id=id,verdict=r,judge=j", [("1", "g", "A > C > B", "None")]),
        ([{"id": 1, "a": 2, "b": 1, "j": "g"}], "id=id,verdict=ranks:a,b,judge=j", [("1", "g", "B>A", "None")]),
    ],
)
def test_a_row_may_be_several_judgments(write: Write, rows: list[Any], maps: str, found: list[Any]) -> None:
    source = opened(write("t.jsonl", *rows), maps)
    assert [(one.id, one.judge, str(one.verdict), str(one.item.label)) for one in source] == found
    assert len({one.item.id for one in source}) == (2 if "@" in maps else 1)
