"""Tables of all kinds, and what a person is asked about them."""

import json

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.readers.importing import answered, changed, questions_of
from metajudge.readers.inspection import inspect_input
from metajudge.readers.saved_maps import save_map


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Writes rows as a CSV file and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(*rows, name="t.csv", delimiter=",", bom=False):
        import csv

        with (tmp_path / name).open("w", newline="", encoding="utf-8-sig" if bom else "utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
            writer.writeheader()
            writer.writerows(rows)
        return name

    return write


def rows(count, **columns):
    """As many rows; a list of values is repeated, and texts get the row's number."""
    return [
        {
            name: value[number % len(value)] if isinstance(value, list) else value.replace("#", str(number))
            for name, value in columns.items()
        }
        for number in range(count)
    ]


def said(name, **options):
    """The verdicts that a guess, or what was saved, gives."""
    found = inspect_input(name, **options)
    assert not questions_of(found), [one.text for one in questions_of(found)]
    return dict(found.verdicts), found


class TestGuesses:
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
    def test_names_and_words_of_many_kinds_are_understood(self, table, columns, verdicts, written):
        read, found = said(table(*rows(6, **columns), **written))
        assert read == verdicts
        record = found.records[0]
        assert record.item.responses == {"A": "first 0", "B": "second 0"}
        assert found.mapping.model_columns == ({"A": "erste", "B": "zweite"} if "erste" in columns else {})
        assert "eval" not in columns or (record.item.question, record.rationale) == ("What is 0?", "r")

    def test_names_in_no_list_by_the_values_alone(self, table):
        name = table(*rows(6, xyz="Why is it #?", foo="a #", bar="b #", baz=["foo", "bar"]))
        found = inspect_input(name)
        assert [one.kind for one in questions_of(found)] == ["judge"]
        assert {one.field: one.column for one in found.fields} == {
            "verdict": "baz",
            "responses.A": "foo",
            "responses.B": "bar",
            "question": "xyz",
        }

    def test_one_hot_winners_with_lists_of_turns_as_json_text(self, table):
        name = table(
            *rows(
                6,
                model_a="m",
                model_b="n",
                prompt='["first #?", "then?"]',
                response_a='["a1", null]',
                response_b='["b1", "b2"]',
                winner_model_a=["1", "0", "0"],
                winner_model_b=["0", "1", "0"],
                winner_tie=["0", "0", "1"],
                judge="j",
            )
        )
        found = inspect_input(name)
        (asked,) = questions_of(found)
        assert (asked.kind, asked.default) == ("turn", "last")
        assert "up to 2 turns" in asked.text
        assert found.verdicts == {"A>B": 2, "B>A": 2, "A=B": 2}
        assert found.records[0].item.responses["B"] == "[turn 1] assistant: b1\n\n[turn 2] assistant: b2"
        first = answered(found.mapping, asked, "1", found.columns)
        record = inspect_input(name, first).records[0]
        assert (record.item.question, record.item.responses) == ("first 0?", {"A": "a1", "B": "b1"})

    def test_many_numbers_are_asked_about_and_never_guessed(self, table):
        name = table(
            *rows(
                6,
                question="What #?",
                answer_a="x",
                answer_b="y",
                winner=["0.84", "0.1", "0.5", "0.6", "0.4", "0.99"],
                judge="g",
            )
        )
        found = inspect_input(name)
        (asked,) = questions_of(found)
        assert asked.kind == "numbers"
        assert "..0.45=B,0.45..0.55=tie,0.55..=A" in asked.text
        mapping = answered(found.mapping, asked, "..0.4=B,0.4..0.6=tie,0.6..=A", found.columns)
        verdicts, _ = said(name, given=mapping)
        assert verdicts == {"A>B": 3, "B>A": 1, "A=B": 2}, "a range contains its lower end, and not its upper one"
        with pytest.raises(InputError, match="overlaps"):
            answered(found.mapping, asked, "..0.5=B,0.4..=A", found.columns)


class TestLists:
    def test_a_list_in_an_object_is_read_spread_over_lines_or_not(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        records = rows(4, prompt="What #?", response_a="x", response_b="y", winner=["A", "B"], judge="g")
        for indent in (None, 1):
            (tmp_path / "w.json").write_text(json.dumps({"meta": 1, "data": {"results": records}}, indent=indent))
            verdicts, found = said("w.json")
            assert verdicts == {"A>B": 2, "B>A": 2}
            assert found.format == "JSON list 'data.results', mapped"

    def test_a_record_on_one_line_stays_a_record_though_it_contains_a_list(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        record = {"prompt": "?", "response_a": "x", "response_b": "y", "winner": "A", "judge": "g", "log": [{"t": 1}]}
        (tmp_path / "one.jsonl").write_text(json.dumps(record) + "\n")
        assert said("one.jsonl")[0] == {"A>B": 1}

    def test_columns_that_nobody_knows_are_shown_with_samples(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "w.json").write_text(json.dumps({"results": [{"p": 1, "q": 2}, {"p": 3, "q": 2}]}))
        found = inspect_input("w.json")
        assert found.columns == ("p", "q")
        assert found.samples == {"p": ["1", "3"], "q": ["2"]}
        assert [one.kind for one in questions_of(found)] == ["column", "column", "responses", "judge"]


def test_an_excel_sheet(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append([None, None])
    sheet.append(["Frage", "Antwort 1", "Antwort 2", "Wer ist besser"])
    for number in range(6):
        sheet.append([f"Was ist {number}?", f"eins {number}", f"zwei {number}", [1, 2.0, "gleich"][number % 3]])
    sheet.append(["mehr", "Zellen", "als", "der", "Kopf"])
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


class TestAnswers:
    @pytest.fixture
    def found(self, table):
        return inspect_input(table(*rows(4, a="What #?", b="text one #", c="text two #", d=["good", "bad"])))

    def test_a_wrong_column_names_the_nearest_one(self, found):
        asked = {one.about: one for one in questions_of(found)}
        with pytest.raises(InputError, match=r"there is no column 'bb'\. .*The columns: a, b, c, d"):
            answered(found.mapping, asked["responses"], "bb,c", found.columns)
        mapping = answered(found.mapping, asked["responses"], "B, c", found.columns)
        assert mapping.response_columns == {"A": "b", "B": "c"}, "case does not matter"

    def test_every_answer_makes_the_table_readable_and_values_are_asked_last(self, found):
        mapping = found.mapping
        for about, text in (("verdict", "d"), ("responses", "b,c"), ("judge", "me")):
            for one in questions_of(found):
                if one.about == about:
                    mapping = answered(mapping, one, text, found.columns)
        again = inspect_input(found.name, mapping)
        values = questions_of(again)
        assert [(one.kind, one.about, one.default) for one in values] == [
            ("value", "good", None),
            ("value", "bad", None),
        ]
        for one, text in zip(values, ("A", "tie"), strict=True):
            mapping = answered(mapping, one, text, found.columns)
        assert said(found.name, given=mapping)[0] == {"A>B": 2, "A=B": 2}

    def test_a_change_replaces_what_was_there(self, found):
        mapping = changed(found.mapping, "judge:=gpt", found.columns)
        assert mapping.constants == {"judge": "gpt"}
        mapping = changed(mapping, "judge=d", found.columns)
        assert (mapping.constants, mapping.columns["judge"]) == ({}, "d")
        assert changed(mapping, "good=A", found.columns).values == {"good": "A"}
        with pytest.raises(InputError):
            changed(mapping, "verdict=nowhere", found.columns)
