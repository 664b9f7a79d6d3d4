"""Tables of all kinds, and what a person is asked about them."""

import csv
import json

import pytest

from metajudge.cli.import_table import import_table
from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.reading.importing import answered, changed, listed, questions_of
from metajudge.reading.inspection import inspect_input
from metajudge.reading.saved_maps import save_map, saved_map


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows(count, **columns):
    """As many rows; a list of values is repeated, and texts get the row's number."""
    return [
        {
            name: value[number % len(value)] if isinstance(value, list) else value.replace("#", str(number))
            for name, value in columns.items()
        }
        for number in range(count)
    ]


def table(count=6, *, delimiter=",", bom=False, **columns):
    """Writes rows as a CSV file and returns its name."""
    with open("t.csv", "w", newline="", encoding="utf-8-sig" if bom else "utf-8") as file:
        writer = csv.DictWriter(file, list(columns), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows(count, **columns))
    return "t.csv"


def said(name, **options):
    """The verdicts that a guess, or what was saved, gives."""
    found = inspect_input(name, **options)
    assert not questions_of(found), [one.text for one in questions_of(found)]
    return dict(found.verdicts), found


@pytest.mark.parametrize(
    ("columns", "verdicts"),
    [
        (  # sides in any case are the columns so named
            {"prompt": "Question #?", "right_answer": "second #", "left_answer": "first #", "evaluator": "gpt"}
            | {"preferred": ["Left", "right", "TIE"]},
            {"A>B": 2, "B>A": 2, "A=B": 2},
        ),
        (  # a German spreadsheet
            {"Frage": "Was ist #?", "Antwort_A": "first #", "Antwort_B": "second #", "Richter": "gpt"}
            | {"Gewinner": ["A", "B", "unentschieden"]},
            {"A>B": 2, "B>A": 2, "A=B": 2},
        ),
        (  # models' names as winners, in whatever columns name the models
            {"question": "Why #?", "answer_1": "first #", "answer_2": "second #", "judge": "j"}
            | {"erste": ["gpt", "llama"], "zweite": ["llama", "gpt"], "winner": ["gpt", "gpt"]},
            {"A>B": 3, "B>A": 3},
        ),
        (  # objects as JSON text in cells
            {"prompt": '{"text": "What is #?"}', "output": '{"a": "first #", "b": "second #"}'}
            | {"eval": '{"winner": "a", "reason": "r", "judge": "g"}'},
            {"A>B": 6},
        ),
    ],
)
@pytest.mark.parametrize("written", [{}, {"delimiter": ";", "bom": True}])
def test_names_and_words_of_many_kinds_are_understood(columns, verdicts, written):
    read, found = said(table(**columns, **written))
    assert read == verdicts
    record = found.records[0]
    assert record.item.responses == {"A": "first 0", "B": "second 0"}
    assert found.mapping.model_columns == ({"A": "erste", "B": "zweite"} if "erste" in columns else {})
    assert "eval" not in columns or (record.item.question, record.rationale) == ("What is 0?", "r")


def test_names_in_no_list_by_the_values_alone():
    found = inspect_input(table(xyz="Why is it #?", foo="a #", bar="b #", baz=["foo", "bar"]))
    assert [one.kind for one in questions_of(found)] == ["judge"]
    taken = {"verdict": "baz", "responses.A": "foo", "responses.B": "bar", "question": "xyz"}
    assert {one.field: one.column for one in found.fields} == taken


def test_one_hot_winners_with_lists_of_turns_as_json_text():
    flags = {
        f"winner_{name}": ["0"] * n + ["1"] + ["0"] * (2 - n) for n, name in enumerate(["model_a", "model_b", "tie"])
    }
    texts = {"prompt": '["first #?", "then?"]', "response_a": '["a1", null]', "response_b": '["b1", "b2"]'}
    name = table(model_a="m", model_b="n", **texts, **flags, judge="j")
    found = inspect_input(name)
    (asked,) = questions_of(found)
    assert (asked.kind, asked.default, "up to 2 turns" in asked.text) == ("turn", "last", True)
    assert found.verdicts == {"A>B": 2, "B>A": 2, "A=B": 2}
    assert found.records[0].item.responses["B"] == "assistant: b1\n\nuser: then?\n\nassistant: b2"
    record = inspect_input(name, answered(found.mapping, asked, "1", found.columns)).records[0]
    assert (record.item.question, record.item.responses) == ("first 0?", {"A": "a1", "B": "b1"})


def test_many_numbers_are_asked_about_and_never_guessed():
    numbers = ["0.84", "0.1", "0.5", "0.6", "0.4", "0.99"]
    found = inspect_input(table(question="What #?", answer_a="x", answer_b="y", winner=numbers, judge="g"))
    (asked,) = questions_of(found)
    assert (asked.kind, "..0.45=B,0.45..0.55=tie,0.55..=A" in asked.text) == ("numbers", True)
    mapping = answered(found.mapping, asked, "..0.4=B,0.4..0.6=tie,0.6..=A", found.columns)
    verdicts, _ = said(found.name, given=mapping)
    assert verdicts == {"A>B": 3, "B>A": 1, "A=B": 2}, "a range contains its lower end, and not its upper one"
    with pytest.raises(InputError, match="overlaps"):
        answered(found.mapping, asked, "..0.5=B,0.4..=A", found.columns)


RECORDS = rows(4, prompt="What #?", response_a="x", response_b="y", winner=["A", "B"], judge="g")


@pytest.mark.parametrize(
    ("data", "indent", "verdicts"),
    [
        ({"meta": 1, "data": {"results": RECORDS}}, None, {"A>B": 2, "B>A": 2}),
        ({"meta": 1, "data": {"results": RECORDS}}, 1, {"A>B": 2, "B>A": 2}),
        (RECORDS[0] | {"log": [{"t": 1}]}, None, {"A>B": 1}),  # a record on one line stays one
    ],
)
def test_a_list_in_an_object_is_read_spread_over_lines_or_not(write, data, indent, verdicts):
    read, found = said(str(write("w.json", json.dumps(data, indent=indent))))
    assert read == verdicts
    assert found.format == ("JSON list 'data.results', mapped" if "data" in data else "JSONL, mapped")


def test_columns_that_nothing_says_are_shown_with_samples(write):
    found = inspect_input(str(write("w.json", {"results": [{"p": 1, "q": 2}, {"p": 3, "q": 2}]})))
    assert (found.columns, found.samples) == (("p", "q"), {"p": ["1", "3"], "q": ["2"]})
    assert [one.kind for one in questions_of(found)] == ["column", "column", "responses", "judge"]


def test_an_excel_sheet(tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    answers = [(f"Was ist {n}?", f"eins {n}", f"zwei {n}", [1, 2.0, "gleich"][n % 3]) for n in range(6)]
    head = [(None, None), ("Frage", "Antwort 1", "Antwort 2", "Wer ist besser")]
    for row in (*head, *answers, ("mehr", "Zellen", "als", "der", "Kopf")):
        book.active.append(row)
    book.save("s.xlsx")
    found = inspect_input("s.xlsx")
    (asked,) = questions_of(found)
    mapping = answered(found.mapping, asked, "mein Richter", found.columns)
    of_values = questions_of(inspect_input("s.xlsx", mapping))
    assert [(one.about, one.default) for one in of_values] == [("1", None), ("2", None)]
    for one, answer in zip(of_values, "AB", strict=True):
        mapping = answered(mapping, one, answer, found.columns)
    verdicts, found = said("s.xlsx", given=mapping)
    assert verdicts == {"A>B": 2, "B>A": 2, "A=B": 2}
    assert found.rejects == 1, "what does not fit below the header is counted, not dropped"
    save_map("s.xlsx", mapping)
    assert open_judgments(["s.xlsx"]).formats == {"s.xlsx": "Excel sheet, mapped"}
    (tmp_path / "broken.xlsx").write_bytes((tmp_path / "s.xlsx").read_bytes()[:900])
    with pytest.raises(InputError):
        inspect_input("broken.xlsx")


@pytest.fixture
def found():
    return inspect_input(table(4, a="What #?", b="text one #", c="text two #", d=["good", "bad"]))


def test_every_answer_makes_the_table_readable_and_values_are_asked_last(found):
    mapping, asked = found.mapping, {one.about: one for one in questions_of(found)}
    with pytest.raises(InputError, match=r"there is no column 'bb'\. .*The columns: a, b, c, d"):
        answered(mapping, asked["responses"], "bb,c", found.columns)
    for about, text in (("verdict", "d"), ("responses", "B, c"), ("judge", "me")):
        mapping = answered(mapping, asked[about], text, found.columns) if about in asked else mapping
    assert mapping.response_columns == {"A": "b", "B": "c"}, "case does not matter"
    values = questions_of(inspect_input(found.name, mapping))
    assert [(one.kind, one.about, one.default) for one in values] == [("value", one, None) for one in ("good", "bad")]
    assert "d has good (2 times), bad (2). What does good mean" in values[0].text
    assert listed(values[0]) == "1 A, 2 B, 3 a tie, 4 no verdict, 5 drop this column"
    dropped = answered(mapping, values[0], "5", found.columns)
    assert (dropped.missing(), mapping.columns["verdict"]) == (("verdict",), "d")
    for one, text in zip(values, ("1", "tie"), strict=True):
        mapping = answered(mapping, one, text, found.columns)
    assert said(found.name, given=mapping)[0] == {"A>B": 2, "A=B": 2}


def test_a_conversation_is_by_number_goes_back_and_drops_a_guess(monkeypatch, capsys):
    name = table(6, item_id="#", question="What #?", response="x #", judge="g", score=["1/5", "7/10"], gold=["4", "3"])
    answers = iter(["=1", "b", "1", "=3", "label=", "b", "label=", ""])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    import_table(name)
    assert "By number: 1 no verdict, 2 drop this column; b goes back." in capsys.readouterr().out
    kept = saved_map(name)
    assert (kept.values, "label" in kept.columns) == ({"1/5": "none", "7/10": "3"}, False)
    assert [str(one.verdict) for one in open_judgments([name])] == ["None", "3"] * 3


def test_a_change_replaces_what_was_there(found):
    mapping = changed(found.mapping, "judge:=gpt", found.columns)
    assert mapping.constants == {"judge": "gpt"}
    mapping = changed(mapping, "judge=d", found.columns)
    assert (mapping.constants, mapping.columns["judge"]) == ({}, "d")
    assert changed(mapping, "good=A", found.columns).values == {"good": "A"}
    assert "judge" not in changed(mapping, "judge=", found.columns).columns
    with pytest.raises(InputError):
        changed(mapping, "verdict=nowhere", found.columns)
