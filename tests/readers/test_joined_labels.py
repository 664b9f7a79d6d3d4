"""Files of labels, and labels joined with judgments."""

from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments, write_jsonl
from metajudge.readers.joined_labels import join, join_source, parse_on
from metajudge.readers.label_files import parse_labels_map, read_labels
from metajudge.types import Category, Grade, Item, Judgment, Label, Pairwise
from metajudge.types.label import answers
from tests.readers.conftest import Table


def test_several_columns_are_several_people(table: Table) -> None:
    rows = read_labels([table(("item_id", "human_1", "human_2"), ("q1", 4, 5), ("q2", "", 3))]).rows
    assert [(one.value, one.annotator, one.line) for one in rows] == [
        ("4", "human_1", 2),
        ("5", "human_2", 2),
        ("3", "human_2", 3),
    ]


def test_a_mapping_goes_before_the_guess(table: Table) -> None:
    path = table(("a", "b", "c", "label"), ("q1", 4, "anna", 1))
    rows = read_labels([path], {"item_id": "a", "label": "b", "annotator": "c"})
    assert [(one.keys["a"], one.value, one.annotator) for one in rows.rows] == [("q1", "4", "anna")]
    with pytest.raises(InputError, match="no column 'z', mapped to label"):
        read_labels([path], {"label": "z"})


def test_a_value_that_cannot_be_guessed_is_asked_for(table: Table) -> None:
    with pytest.raises(InputError, match=r"no column is named like a label.*--labels-map label=COLUMN"):
        read_labels([table(("item_id", "x", "y"), ("q1", 1, 2))])


def test_labels_of_our_own_records_and_verdicts_of_people_as_judges(tmp_path: Path) -> None:
    item = Item(id="q1", question="?", responses={"A": "x"}, labels=(Label(value=Category("ok"), annotator="an"),))
    records = [Judgment(id=f"{judge}1", item=item, judge=judge, verdict=Grade(1.0)) for judge in ("g", "h")]
    write_jsonl(tmp_path / "own.jsonl", records)
    (row,) = read_labels([tmp_path / "own.jsonl"]).rows  # the item's, once
    assert (row.keys["item_id"], row.value, row.annotator) == ("q1", item.labels[0], "an")
    bare = Item(id="q1", question="?", responses={"A": "x"})
    votes = [Judgment(id=f"{who}1", item=bare, judge=who, verdict=Grade(1.0)) for who in ("anna", "ben")]
    write_jsonl(tmp_path / "people.jsonl", votes)
    found = read_labels([tmp_path / "people.jsonl"])
    assert [(one.annotator, one.keys["id"]) for one in found.rows] == [("anna", "anna1"), ("ben", "ben1")]
    assert "each verdict is a label by its judge" in found.notes[0]


def test_a_file_without_any_label_is_refused(table: Table) -> None:
    with pytest.raises(InputError, match="contains no label: every value is empty"):
        read_labels([table(("item_id", "label"), ("q1", ""))])


def test_a_map_of_labels_is_checked() -> None:
    assert parse_labels_map(["item_id=qid,label=a+b", "annotator=who"]) == {
        "item_id": "qid",
        "label": "a+b",
        "annotator": "who",
    }
    for text in ("qid", "judge=x", "label=", "label=a,label=b"):
        with pytest.raises(InputError, match="is not FIELD=COLUMN, each field once"):
            parse_labels_map([text])


def graded(number: int, judge: str = "g", item: str | None = None, model: str | None = None) -> Judgment:
    models = {"A": model} if model else None
    shown = Item(id=item or f"q{number}", question=f"{number}?", responses={"A": f"{number}"}, models=models)
    return Judgment(id=f"{judge}{number}", item=shown, judge=judge, verdict=Grade(float(number)))


def said(judgment: Judgment) -> list[tuple[Any, str | None]]:
    return [(one.value.to_json(), one.annotator) for one in judgment.item.labels]


def test_several_people_of_an_item_are_joined_with_every_judgment_of_it(table: Table) -> None:
    judgments = [graded(1), graded(1, "h"), graded(2)]
    path = table(("item_id", "human_score", "annotator"), ("q1", 4, "anna"), ("q1", "", "cy"), ("q1", 5, "ben"))
    found, report = join(judgments, read_labels([path]))
    assert [said(one) for one in found] == [[(4.0, "anna"), (5.0, "ben")]] * 2 + [[]]
    assert found[0].item.truth == Grade(4.5)
    assert (report.way.on, report.way.guessed, report.labels, report.matched) == ("item", True, 2, 2)
    assert (report.judgments, report.labelled, report.unlabelled) == (3, 2, ["g2"])


def test_the_verdict_the_keys_and_the_digests_stay_what_they_are(table: Table) -> None:
    given = graded(1)
    digests = given.vetting_digest, given.item.digest, given.item.truth
    (found,), _ = join([given], read_labels([table(("item_id", "score"), ("q1", 1))]))
    assert digests == (found.vetting_digest, found.item.digest, None)
    assert found.item.truth == Grade(1)
    assert Judgment.model_validate(found.model_dump()) == found


def test_a_judgments_own_id_is_recognised_by_its_values(table: Table) -> None:
    path = table(("name", "key", "value"), ("x", "g1", "pass"), ("y", "h1", "fail"))
    found, report = join([graded(1), graded(1, "h")], read_labels([path]))
    assert report.way.on == "id"
    assert [said(one) for one in found] == [[("pass", None)], [("fail", None)]]


def test_item_and_model_are_one_key(table: Table) -> None:
    judgments = [graded(n, item=f"q/{model}", model=model) for n, model in enumerate(("m1", "m2"), start=1)]
    path = table(("question_id", "model", "rating"), ("q", "m1", 1), ("q", "m2", 2), ("q", "m3", 3))
    found, report = join(judgments, read_labels([path]))
    assert report.way.on == "item+response"
    assert [said(one) for one in found] == [[(1.0, None)], [(2.0, None)]]
    assert report.unmatched == [f"q/m3 at {path}:4"]


def test_unmatched_rows_of_both_sides_are_counted_and_listed(table: Table) -> None:
    path = table(("item_id", "label"), ("q1", 1), *((f"z{n}", 2) for n in range(5)))
    _, report = join([graded(1), graded(2)], read_labels([path]))
    assert report.labels - report.matched == 5
    assert report.unmatched == [f"z{n} at {path}:{n + 3}" for n in range(3)]
    notices = " ".join(report.notices())
    assert "1 of 6 labels joined by the item's id (column 'item_id'), which was guessed" in notices
    assert "5 labels without a judgment, the first: z0 at" in notices
    assert "1 judgment without a label, the first: g2." in notices


def test_a_value_that_means_nothing_is_refused_and_one_for_no_answer_is_counted(table: Table) -> None:
    item = Item(id="p", question="?", responses={"A": "x", "B": "y"})
    judgments = [Judgment(id="j", item=item, judge="g", verdict="A>B")]
    path = table(
        ("item_id", "winner", "annotator"), ("p", "model_a", "anna"), ("p", "maybe", "ben"), ("p", "tie", "cy")
    )
    with pytest.raises(InputError, match=r"labels: 'maybe' \(1\) mean nothing .* --map-values maybe=MEANING"):
        join(judgments, read_labels([path]))
    (told,), _ = join(judgments, read_labels([path]), values={"label:maybe": "tie"})
    assert [one.value.winner for one in told.item.labels] == ["A", None, None]
    silent = table(("item_id", "winner"), ("p", "model_a"), ("p", "unsure"), ("p", "?"), ("p", "unsure"))
    (found,), report = join(judgments, read_labels([silent]))
    assert [one.value for one in found.item.labels] == [Pairwise("A", "B", 1)]
    assert (report.matched, report.unreadable) == (1, [])
    assert "3 labels that stand for no answer: 'unsure' (2), '?' (1)." in report.notices()


def test_the_newest_answer_of_a_person_counts_and_a_ruling_is_no_answer(table: Table) -> None:
    head = ("item_id", "annotator", "label", "created_at", "adjudicated")
    rows = [
        ("q1", "anna", 2, "2026-03-01", "false"),
        ("q1", "anna", 4, "2026-01-01", "false"),
        ("q1", "ben", 1, "2026-01-02", "false"),
        ("q2", "anna", 3, "", "false"),
        ("q2", "anna", 5, "", "false"),
        ("q2", "cleo", 1, "2026-01-01", "true"),
    ]
    (one, two), report = join([graded(1), graded(2)], read_labels([table(head, *rows)]))
    assert [(label.annotator, label.value.value) for label in answers(one.item.labels)] == [("anna", 2), ("ben", 1)]
    assert [(label.annotator, label.value.value) for label in answers(two.item.labels)] == [("anna", 5)]
    assert (one.item.truth, two.item.truth) == (Grade(1.5), Grade(1))
    assert "2 answers are older ones of a person who answered an item again: the newest counts." in report.notices()


def test_people_without_a_name_are_a_person_each_in_every_record_of_an_item(table: Table) -> None:
    path = table(("item_id", "label"), ("q1", 2), ("q1", 2), ("q1", 5))
    found, _ = join([graded(1), graded(1).model_copy(update={"id": "again", "judge": "h"})], read_labels([path]))
    assert [[label.value.value for label in one.item.labels] for one in found] == [[2, 2, 5]] * 2
    write_jsonl(path.with_suffix(".jsonl"), found)
    spoken = read_labels([path.with_suffix(".jsonl")])
    assert [row.value.value.value for row in spoken.rows] == [2, 2, 5]


def test_two_keys_that_mean_different_judgments_are_refused_and_one_can_be_named(table: Table) -> None:
    crossed = [graded(1, item="g2"), graded(2, item="g1")]
    path = table(("key", "label"), ("g1", 1), ("g2", 2))
    with pytest.raises(InputError, match="several ways"):
        join(crossed, read_labels([path]))
    found, report = join(crossed, read_labels([path]), parse_on("item"))
    assert [said(one) for one in found] == [[(2.0, None)], [(1.0, None)]]
    assert not report.way.guessed
    with pytest.raises(InputError, match="--on 'row' is no key"):
        parse_on("row")


def test_nothing_that_matches_names_both_sides(table: Table) -> None:
    path = table(("item_id", "label"), ("x", 1))
    with pytest.raises(InputError, match=r"the first label has item_id='x'; the first judgment has id='g1', item='q1'"):
        join([graded(1)], read_labels([path]))


def test_a_record_with_a_label_of_its_own_keeps_it_as_the_truth(table: Table) -> None:
    own = graded(1)
    own = own.model_copy(update={"item": Item(**{**own.item.model_dump(), "label": 3.0})})
    (found,), report = join([own], read_labels([table(("item_id", "label"), ("q1", 1))]))
    assert found.item.truth == Grade(3)
    assert report.own == 1


def test_a_stream_gets_labels_in_every_pass_whatever_the_filter(tmp_path: Path, table: Table) -> None:
    write_jsonl(tmp_path / "j.jsonl", [graded(1), graded(1, "h")])
    source = open_judgments([tmp_path / "j.jsonl"], judges=["h"])
    report = join_source(source, read_labels([table(("item_id", "label", "annotator"), ("q1", "good", "anna"))]))
    assert report.judgments == 2
    for _ in range(2):
        assert [(one.judge, said(one)) for one in source] == [("h", [("good", "anna")])]
    assert source.line_readers is None  # a part of the file would have no labels
    assert source.notices[0].startswith("1 of 1 label joined")
