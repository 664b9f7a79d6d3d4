import csv
import io

import pytest

from metajudge.readers.label_files import read_labels
from metajudge.report.audit.commands import sheet, to_label
from metajudge.types import Item, Judgment


def judgment(name, label=None, **responses):
    responses = responses or {"A": "4, of course", "B": "5"}
    verdict = "A>B" if len(responses) == 2 else 3
    item = Item(id=name, question=f"What is {name}?", responses=responses, label=label)
    return Judgment(id=f"{name}/owl", item=item, judge="owl", verdict=verdict)


def test_only_items_without_a_label_are_drawn_each_once():
    given = [judgment("q1", "A>B"), *(judgment(f"q{n}") for n in range(2, 40)), judgment("q2")]
    drawn = to_label(given, most=10)
    assert len({item.id for item in drawn}) == 10
    assert "q1" not in {item.id for item in drawn}
    assert len(to_label(given)) == 38


def test_the_draw_is_random_and_repeatable():
    given = [judgment(f"q{n:03}") for n in range(100)]
    drawn = [item.id for item in to_label(given, most=20)]
    assert drawn == [item.id for item in to_label(list(reversed(given)), most=20)]
    assert drawn != sorted(drawn)
    assert drawn != [item.id for item in to_label(given, most=20, seed=1)]


def test_the_sheet_has_an_empty_label_and_the_texts():
    (row,) = csv.DictReader(io.StringIO(sheet([judgment("q1").item])))
    assert row == {
        "item_id": "q1",
        "label": "",
        "annotator": "",
        "question_text": "What is q1?",
        "text_of_A": "4, of course",
        "text_of_B": "5",
    }
    (row,) = csv.DictReader(io.StringIO(sheet([judgment("q1", response="4").item])))
    assert row["response_text"] == "4"


@pytest.mark.parametrize("name", ["=1", "-q7", "'=1", "@home", " +1", "q1"])
def test_the_sheet_that_people_filled_in_names_the_items_it_was_made_of(tmp_path, name):
    header, row, _ = sheet([judgment(name, A="=SUM(A1)", B="- 5").item]).split("\r\n")
    assert header == "item_id,label,annotator,question_text,text_of_A,text_of_B"
    assert row.endswith(f",,,What is {name}?,'=SUM(A1),'- 5")
    filled = row.replace(",,,", ",-2,'=ada,")
    (tmp_path / "to-label.csv").write_text(f"{header}\n{filled}\n")
    (tmp_path / "theirs.csv").write_text(f"item_id,label,annotator\n'{name},-2,'=ada\n")
    (found,) = read_labels([tmp_path / "to-label.csv"]).rows
    assert (found.keys["item_id"], found.value, found.annotator) == (name.strip(), "-2", "=ada")
    (found,) = read_labels([tmp_path / "theirs.csv"]).rows
    assert (found.keys["item_id"], found.annotator) == (f"'{name}", "'=ada"), "others' texts are left alone"
