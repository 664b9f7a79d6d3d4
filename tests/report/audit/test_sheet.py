import csv
import io
import json
import shlex
from functools import cache

import jsonschema
import pytest
import typer

from metajudge.audit.card import AuditDocument, AuditedJudge, NextCommand
from metajudge.audit.gather import EXCERPT
from metajudge.audit.report import audit
from metajudge.cli.app import app
from metajudge.reading.label_files import read_labels
from metajudge.report.audit.page import page
from metajudge.report.audit.published import Given, next_commands, published, sheet, to_label
from metajudge.report.audit.terminal import lines
from metajudge.report.html import to_html
from metajudge.types import Item, Judgment
from tests.audit.records import people

KEY = "sk-" + "a1B2" * 8
GOALS = ("add labels", "calibrate", "guarantee", "vet", "drop a judge")


def judged(at, judge, grade):
    labels = people([at % 4 + 1] * 2) if at < 60 else ()
    item = Item(id=f"i{at}", question=f"What is {at}?", responses={"A": f"Five. My key is {KEY}."}, labels=labels)
    meta = {"time": 1.7e9 + 86_400 * at, "version": "ab"[at % 2]}
    return Judgment(
        id=f"{judge}/{at}", item=item, judge=judge, verdict=grade, meta=meta, rationale="It is <b>right</b>."
    )


@cache
def whole():
    given = [judged(at, "owl", at % 4 + 1 if at < 40 else 1) for at in range(80)]
    return audit([*given, *(judged(at, "wren", (at + at % 3) % 4 + 1) for at in range(80))])


def report(**changes):
    steps = tuple(NextCommand(goal=goal, reason=f"to {goal}", judge="wren") for goal in GOALS)
    return whole().model_copy(update={"next": steps, **changes})


def card(**changes):
    return whole().judges[0].model_copy(update=changes)


def unlabelled(judge="wren"):
    card = audit([judged(at, judge, at % 4 + 1) for at in range(60, 80)]).judges[0]
    return AuditedJudge.model_validate(card.model_dump() | {"checks": (), "figures": {}})


def judgment(name, label=None, **responses):
    responses = responses or {"A": "4, of course", "B": "5"}
    verdict = "A>B" if len(responses) == 2 else 3
    item = Item(id=name, question=f"What is {name}?", responses=responses, label=label)
    return Judgment(id=f"{name}/owl", item=item, judge="owl", verdict=verdict)


def test_only_items_without_a_label_are_drawn_each_once_randomly_and_repeatably():
    given = [judgment("q1", "A>B"), *(judgment(f"q{n}") for n in range(2, 40)), judgment("q2")]
    drawn = to_label(given, most=10)
    assert len({item.id for item in drawn}) == 10
    assert "q1" not in {item.id for item in drawn}
    assert len(to_label(given)) == 38
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


GIVEN = Given(
    inputs=("my grades.csv", "b$.csv"),
    labels=("--labels", "people's.csv", "--on", "item"),
    right=("--right", "within:1"),
    reading=("--map-values", "C=tie"),
)


def made(given=GIVEN, **changes):
    return {one.goal: one.command for one in next_commands(report(**changes), given)}


def test_the_users_own_files_are_named_and_quoted():
    for goal in ("add labels", "calibrate", "vet", "drop a judge"):
        words = shlex.split(made()[goal])
        assert {"my grades.csv", "b$.csv"} <= set(words), goal
        assert "'my grades.csv'" in made()[goal]


@pytest.mark.parametrize("goal", GOALS)
def test_every_command_exists_with_its_options(goal):
    given = Given(inputs=("a.csv",), labels=("--labels", "b.csv"), reading=("--map-values", "C=tie"), sheet="c.csv")
    words = shlex.split(made(given)[goal])[1:]
    command = typer.main.get_command(app)
    while hasattr(command, "commands") and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_document_keeps_labels_and_absences_and_reads_back_as_itself():
    assert "--labels 'people'\"'\"'s.csv' --on item" in made()["add labels"]
    without = Given(inputs=("a.csv",), sheet="out/to-label.csv")
    assert made(without)["add labels"] == "metajudge audit a.csv --labels out/to-label.csv"
    found = published(report(judges=(unlabelled(),)))
    judge = json.loads(found.model_dump_json())["judges"][0]
    assert (judge["accuracy"], judge["kappa"], judge["figures"]) == (None, None, {})
    found = published(report(), inputs=("a.csv",))
    schema = AuditDocument.model_json_schema(mode="serialization")
    jsonschema.validate(json.loads(found.model_dump_json()), schema)
    assert AuditDocument.model_validate_json(found.model_dump_json()) == found


def test_texts_are_shortened_and_secrets_in_them_hidden():
    worst = card().worst[0].model_copy(update={"question": "q" * EXCERPT})
    found = published(report(judges=(card(worst=(worst,)),)))
    shown = found.judges[0].worst[0]
    assert len(shown.question) == EXCERPT
    assert shown.question.endswith("...")
    assert KEY not in found.model_dump_json()


def shown(**changes):
    found = report(**changes)
    commands = next_commands(found, Given(inputs=("a very long folder name/with a file in it/" + "x" * 60 + ".csv",)))
    return list(lines(published(found, next_commands=commands)))


def text(**changes):
    return "\n".join(line.plain for line in shown(**changes))


def test_page_and_terminal_show_texts_escaped_and_without_secrets():
    found = to_html(page(published(report())))
    assert "It is &lt;b&gt;right" in found
    assert KEY not in found
    found = text()
    assert "owl/43: verdict 1, label 4 (2 people, all)" in found
    assert "response   Five. My key is [hidden]." in found
    assert KEY not in found
    judge = card(judge="owl\x1b[31m\n")
    assert "\x1b" not in text(judges=(judge,))
    found = text(juries=(), supports=(), notices=(), next=(), judges=(unlabelled(),), ceilings=())
    for part in ("jury", "Notes", "Next", "Worst", "Checks", "None"):
        assert part not in found
