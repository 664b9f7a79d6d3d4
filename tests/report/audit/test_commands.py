import shlex

import pytest
import typer

from metajudge.cli.app import app
from metajudge.report.audit.commands import Given, next_commands
from tests.report.audit import cards

GIVEN = Given(
    inputs=("my grades.csv", "b$.csv"),
    labels=("--labels", "people's.csv", "--on", "item"),
    right=("--right", "within:1"),
    reading=("--map-values", "C=tie"),
)


def made(given=GIVEN, **changes):
    return {one.goal: one.command for one in next_commands(cards.report(**changes), given)}


def test_the_users_own_files_are_named_and_quoted():
    for goal in ("add labels", "calibrate", "vet", "drop a judge"):
        words = shlex.split(made()[goal])
        assert {"my grades.csv", "b$.csv"} <= set(words), goal
        assert "'my grades.csv'" in made()[goal]


@pytest.mark.parametrize("goal", ["add labels", "calibrate", "guarantee", "vet", "drop a judge"])
def test_every_command_exists_with_its_options(goal):
    given = Given(inputs=("a.csv",), labels=("--labels", "b.csv"), reading=("--map-values", "C=tie"), sheet="c.csv")
    words = shlex.split(made(given)[goal])[1:]
    command = typer.main.get_command(app)
    while hasattr(command, "commands") and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= known


def test_labels_go_along_and_a_missing_file_of_labels_is_the_sheet_that_was_written():
    assert "--labels 'people'\"'\"'s.csv' --on item" in made()["add labels"]
    without = Given(inputs=("a.csv",), sheet="out/to-label.csv")
    assert made(without)["add labels"] == "metajudge audit a.csv --labels out/to-label.csv"
