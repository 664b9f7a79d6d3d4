"""Files of labels, and labels joined with judgments."""

from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.reading import open_judgments, write_jsonl
from metajudge.reading.joined_labels import join, join_source, parse_on
from metajudge.reading.label_files import parse_labels_map, read_labels
from metajudge.reading.mapping import parse_map
from metajudge.types import Category, Grade, Item, Judgment, Label, Pairwise
from metajudge.types.label import Drawn, answers, chosen_cells, chosen_in, chosen_of
from tests.reading.conftest import Table


@pytest.mark.parametrize(
    ("rows", "mapping", "expected"),
    [
        (  # several columns are several people
            [("item_id", "human_1", "human_2"), ("q1", 4, 5), ("q2", "", 3)],
            {},
            [("4", "human_1", 2), ("5", "human_2", 2), ("3", "human_2", 3)],
        ),
        (  # a mapping goes before the guess
            [("a", "b", "c", "label"), ("q1", 4, "anna", 1)],
            {"item_id": "a", "label": "b", "annotator": "c"},
            [("4", "anna", 2)],
        ),
    ],
)
def test_labels_of_a_table(table: Table, rows: Any, mapping: dict[str, str], expected: list[Any]) -> None:
    found = read_labels([table(*rows)], mapping)
    assert [(one.value, one.annotator, one.line) for one in found.rows] == expected
    assert found.rows[0].keys[rows[0][0]] == "q1"


@pytest.mark.parametrize(
    ("rows", "mapping", "message"),
    [
        ([("item_id", "label"), ("q1", 1)], {"label": "z"}, "no column 'z', mapped to label"),
        ([("item_id", "x", "y"), ("q1", 1, 2)], {}, r"no column is named like a label.*--labels-map label=COLUMN"),
        ([("item_id", "label"), ("q1", "")], {}, "contains no label: every value is empty"),
    ],
)
def test_a_table_without_a_label_is_refused(table: Table, rows: Any, mapping: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_labels([table(*rows)], mapping)


def test_labels_of_our_own_records_and_verdicts_of_people_as_judges(tmp_path: Path) -> None:
    item = Item(id="q1", question="?", responses={"A": "x"}, labels=(Label(value=Category("ok"), annotator="an"),))
    records = [Judgment(id=f"{judge}1", item=item, judge=judge, verdict=Grade(1.0)) for judge in ("g", "h")]
    write_jsonl(tmp_path / "own.jsonl", records)
    (row,) = read_labels([tmp_path / "own.jsonl"]).rows  # the item's, once
    assert (row.keys["item_id"], row.value, row.annotator) == ("q1", item.labels[0], "an")
    bare = item.model_copy(update={"labels": ()})
    write_jsonl(tmp_path / "people.jsonl", [one.model_copy(update={"item": bare}) for one in records])
    found = read_labels([tmp_path / "people.jsonl"])
    assert [(one.annotator, one.keys["id"]) for one in found.rows] == [("g", "g1"), ("h", "h1")]
    assert "each verdict is a label by its judge" in found.notes[0]


def test_a_map_of_labels_is_checked() -> None:
    given = {"item_id": "qid", "label": "a+b", "annotator": "who"}
    assert parse_labels_map(["item_id=qid,label=a+b", "annotator=who"]) == given
    for text in ("qid", "judge=x", "label=", "label=a,label=b"):
        with pytest.raises(InputError, match="is not FIELD=COLUMN, each field once"):
            parse_labels_map([text])


def graded(number: int, judge: str = "g", item: str | None = None, model: str | None = None, **more: Any) -> Judgment:
    models = {"A": model} if model else None
    responses = {"A": f"{number}"}
    shown = Item(id=item or f"q{number}", question=f"{number}?", responses=responses, models=models, **more)
    return Judgment(id=f"{judge}{number}", item=shown, judge=judge, verdict=Grade(float(number)))


def said(judgment: Judgment) -> list[tuple[Any, str | None]]:
    return [(one.value.to_json(), one.annotator) for one in judgment.item.labels]


MODELS = [graded(n, item=f"q/m{n}", model=f"m{n}") for n in (1, 2)]
PEOPLE = [("item_id", "human_score", "annotator"), ("q1", 4, "anna"), ("q1", "", "cy"), ("q1", 5, "ben")]


@pytest.mark.parametrize(
    ("judgments", "rows", "on", "labels"),
    [
        # Several people of an item are joined with every judgment of it.
        ([graded(1), graded(1, "h"), graded(2)], PEOPLE, "item", [[(4.0, "anna"), (5.0, "ben")]] * 2 + [[]]),
        # A judgment's own id is recognised by its values; item and model are one key.
        (
            [graded(1), graded(1, "h")],
            [("name", "key", "value"), ("x", "g1", "pass"), ("y", "h1", "fail")],
            "id",
            [[("pass", None)], [("fail", None)]],
        ),
        (
            MODELS,
            [("question_id", "model", "rating"), ("q", "m1", 1), ("q", "m2", 2), ("q", "m3", 3)],
            "item+response",
            [[(1.0, None)], [(2.0, None)]],
        ),
        # Ids that are one number are three.
        (
            [graded(n, item=name) for n, name in enumerate(("0", "0.0"))],
            [("item_id", "label"), ("0", 3), ("0.0", 5)],
            "item",
            [[(3.0, None)], [(5.0, None)]],
        ),
    ],
)
def test_labels_find_their_judgments(table: Table, judgments: list[Judgment], rows: Any, on: str, labels: Any) -> None:
    found, report = join(judgments, read_labels([table(*rows)]))
    assert (report.on, report.guessed, [said(one) for one in found]) == (on, True, labels)
    assert (report.labels, report.matched) == (3 if on == "item+response" else 2, 2)
    assert (report.judgments, report.labelled) == (len(judgments), sum(map(bool, labels)))
    assert [one.split(" at ")[0] for one in report.unmatched] == (["q/m3"] if on == "item+response" else [])


def test_the_verdict_the_keys_and_the_digests_stay_what_they_are(table: Table) -> None:
    given = graded(1)
    (found,), _ = join([given], read_labels([table(("item_id", "score"), ("q1", 1))]))
    assert (given.vetting_digest, given.item.digest) == (found.vetting_digest, found.item.digest)
    assert (given.item.truth, found.item.truth) == (None, Grade(1))
    assert Judgment.model_validate(found.model_dump()) == found


def test_unmatched_rows_of_both_sides_are_counted_and_listed(table: Table) -> None:
    path = table(("item_id", "label"), ("q1", 1), *((f"z{n}", 2) for n in range(5)))
    _, report = join([graded(1), graded(2)], read_labels([path]))
    assert (report.labels - report.matched, report.unlabelled) == (5, ["g2"])
    assert report.unmatched == [f"z{n} at {path}:{n + 3}" for n in range(3)]
    notices = " ".join(report.notices)
    assert "1 of 6 labels joined by the item's id (column 'item_id'), which was guessed" in notices
    assert "5 labels without a judgment, the first: z0 at" in notices
    assert "1 judgment without a label, the first: g2." in notices


def test_a_value_that_means_nothing_is_refused_and_one_for_no_answer_is_counted(table: Table) -> None:
    item = Item(id="p", question="?", responses={"A": "x", "B": "y"})
    judgments = [Judgment(id="j", item=item, judge="g", verdict="A>B")]
    labels = read_labels([table(("item_id", "winner"), *(("p", word) for word in ("model_a", "maybe", "tie")))])
    with pytest.raises(InputError, match=r"labels: 'maybe' \(1\) mean nothing .* --map-values maybe=MEANING"):
        join(judgments, labels)
    (told,), _ = join(judgments, labels, values={"label:maybe": "tie"})
    assert [one.value.winner for one in told.item.labels] == ["A", None, None]
    silent = table(("item_id", "winner"), *(("p", word) for word in ("model_a", "unsure", "?", "unsure")))
    (found,), report = join(judgments, read_labels([silent]))
    assert [one.value for one in found.item.labels] == [Pairwise("A", "B", 1)]
    assert (report.matched, report.unreadable) == (1, [])
    assert "3 labels that stand for no answer: 'unsure' (2), '?' (1)." in report.notices


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
    assert "2 answers are older ones of a person who answered an item again: the newest counts." in report.notices


def test_people_without_a_name_are_a_person_each_in_every_record_of_an_item(table: Table) -> None:
    path = table(("item_id", "label"), ("q1", 2), ("q1", 2), ("q1", 5))
    found, _ = join([graded(1), graded(1).model_copy(update={"id": "again", "judge": "h"})], read_labels([path]))
    assert [[label.value.value for label in one.item.labels] for one in found] == [[2, 2, 5]] * 2
    write_jsonl(path.with_suffix(".jsonl"), found)
    assert [row.value.value.value for row in read_labels([path.with_suffix(".jsonl")]).rows] == [2, 2, 5]


def test_two_keys_that_mean_different_judgments_are_refused_and_one_can_be_named(table: Table) -> None:
    crossed, path = [graded(1, item="g2"), graded(2, item="g1")], table(("key", "label"), ("g1", 1), ("g2", 2))
    with pytest.raises(InputError, match="several ways"):
        join(crossed, read_labels([path]))
    found, report = join(crossed, read_labels([path]), parse_on("item"))
    assert ([said(one) for one in found], report.guessed) == ([[(2.0, None)], [(1.0, None)]], False)
    with pytest.raises(InputError, match="--on 'row' is no key"):
        parse_on("row")
    with pytest.raises(InputError, match=r"the first label has key='g1'; the first judgment has id='g7', item='q7'"):
        join([graded(7)], read_labels([path]))


def test_a_record_with_a_label_of_its_own_keeps_it_as_the_truth(table: Table) -> None:
    (found,), report = join([graded(1, label=3.0)], read_labels([table(("item_id", "label"), ("q1", 1))]))
    assert (found.item.truth, report.own) == (Grade(3), 1)


def test_a_stream_gets_labels_in_every_pass_whatever_the_filter(tmp_path: Path, table: Table) -> None:
    write_jsonl(tmp_path / "j.jsonl", [graded(1), graded(1, "h")])
    source = open_judgments([tmp_path / "j.jsonl"], judges=["h"])
    report = join_source(source, read_labels([table(("item_id", "label", "annotator"), ("q1", "good", "anna"))]))
    assert report.judgments == 2
    for _ in range(2):
        assert [(one.judge, said(one)) for one in source] == [("h", [("good", "anna")])]
    assert source.line_readers is None  # a part of the file would have no labels
    assert source.notices[0].startswith("1 of 1 label joined")


CHOSEN = ("chosen", "drawn_probability", "drawn_floor", "drawn_seed")


@pytest.mark.parametrize(
    ("cells", "chosen"),
    [
        (("drawn", 0.25, 0.71, 3), Drawn(probability=0.25, floor=0.71, seed=3)),
        (("Drawn", "1", "", ""), Drawn(probability=1)),
        (("picked", "", "", ""), "picked"),
        (("", "", "", ""), None),
        (("the better answer", 0.5, "", ""), None),  # a preferred response is no word on the draw
    ],
)
def test_how_a_row_was_chosen_stays_with_its_label_in_files_of_labels_tables_and_records(
    tmp_path: Path, table: Table, cells: tuple[object, ...], chosen: object
) -> None:
    bare = Judgment(id="j1", item=Item(id="q1", question="?", responses={"A": "x"}), judge="g", verdict=Grade(1.0))
    ((joined,), _) = join([bare], read_labels([table(("item_id", "label", *CHOSEN), ("q1", 4, *cells))]))
    assert [one.chosen for one in joined.item.labels] == [chosen]
    write_jsonl(tmp_path / "own.jsonl", [joined])
    (again,) = open_judgments([tmp_path / "own.jsonl"])
    assert again == joined
    assert [row.value.chosen for row in read_labels([tmp_path / "own.jsonl"]).rows] == [chosen]
    columns = ("item_id", "question", "response", "judge", "verdict", "label", *CHOSEN)
    for more in ((), ("annotator",)):
        path = table((*columns, *more), ("q1", "?", "x", "g", 3, 4, *cells, *("ann" for _ in more)))
        (read,) = open_judgments(
            [path],
            mapping=parse_map(
                [*(f"{one}={one}" for one in columns[:6] if one != "response"), "responses.A=response"], []
            ),
        )
        assert read.item.truth == Grade(4.0)
        assert chosen_of(read.item.labels) == chosen
    assert chosen_in(chosen_cells(chosen)) == chosen


def test_an_item_is_drawn_where_one_of_its_labels_says_so_and_a_draw_without_a_probability_is_refused(
    table: Table,
) -> None:
    drawn = Drawn(probability=0.5, seed=0)
    labels = [Label(value=Grade(1.0), chosen=how) for how in (None, "picked", drawn)]
    assert [chosen_of(labels[:n]) for n in range(4)] == [None, None, "picked", drawn]
    for probability in ("", "1.5", "half"):
        path = table(("item_id", "label", *CHOSEN), ("q1", 4, "drawn", probability, "", ""))
        with pytest.raises(InputError, match=r":2: drawn, but drawn_probability .*needs its probability in \(0, 1\]"):
            read_labels([path])
