"""The command tree: titled groups from a table, modules imported on use, help that agrees with the commands."""

import inspect
import os
import subprocess
import sys
from importlib import import_module
from itertools import groupby

import pytest
import typer
from typer.testing import CliRunner

from metajudge.cli.app import COMMANDS, app
from metajudge.runs.exit_codes import EPILOG

TREE = typer.main.get_command(app)
GROUPS = ["Vet and measure", "Produce verdicts", "Decide and review", "Data", "Set-up"]


def run(*words, **environment):
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "80", "TERMINAL_WIDTH": "80", **environment})


def first_paragraph(entry):
    module, attribute = entry.place.split(":")
    loaded = getattr(import_module(f"metajudge.cli.{module}"), attribute)
    text = loaded.info.help if isinstance(loaded, typer.Typer) else inspect.getdoc(loaded)
    return " ".join(text.split("\n\n")[0].split())


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_a_summary_is_the_start_of_the_help_of_its_command(entry):
    text = first_paragraph(entry)
    assert text.startswith(entry.summary)
    assert text[len(entry.summary) :][:1] in ("", ".", ":", ",", ";"), "the summary ends within a clause"


def test_the_help_lists_every_command_on_one_uncut_line_under_its_title():
    lines = run("--help").stdout.splitlines()
    listed = [line.split(None, 1) for line in lines if line.startswith("  ") and line.split()[0] in TREE.commands]
    assert [tuple(pair) for pair in listed] == [(entry.name, entry.summary) for entry in COMMANDS]
    titles = [line.removesuffix(":") for line in lines if line.endswith(":") and not line.startswith((" ", "Options"))]
    assert titles == GROUPS == [title for title, _ in groupby(COMMANDS, key=lambda entry: entry.title)]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS if entry.place.endswith(":app")])
def test_the_lines_of_a_group_are_not_cut(name):
    lines = run(name, "--help").stdout.splitlines()
    assert not [line for line in lines if line.endswith("...") and not line.startswith("Usage")]
    assert max(map(len, lines)) <= 80


def test_names_are_given_once():
    assert len({entry.name for entry in COMMANDS}) == len(COMMANDS)


def test_help_completion_and_a_wrong_name_import_no_command():
    code = (
        "import sys; from typer.testing import CliRunner; from metajudge.cli.app import COMMANDS, app\n"
        "CliRunner().invoke(app, ['--help']); CliRunner().invoke(app, ['vett'])\n"
        "CliRunner().invoke(app, [], prog_name='metajudge', env={'_METAJUDGE_COMPLETE': 'complete_bash', "
        "'COMP_WORDS': 'metajudge v', 'COMP_CWORD': '1', '_TYPER_COMPLETE_ARGS': 'metajudge v'})\n"
        "print([m for e in COMMANDS for m in ['metajudge.cli.' + e.place.split(':')[0]] if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def complete(*words):
    line = " ".join(("metajudge", *words))
    environment = os.environ | {"_METAJUDGE_COMPLETE": "complete_bash", "_TYPER_COMPLETE_ARGS": line}
    environment |= {"COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    done = subprocess.run(
        [sys.executable, "-c", "from metajudge.cli.app import app; app(prog_name='metajudge')"],
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["c"], ["calibrate", "clash", "case", "check"]),
        (["--deb"], ["--debug"]),
        (["calibrate", "f"], ["fit"]),
        (["runs", "--lim"], ["--limit"]),
    ],
)
@pytest.mark.slow
def test_the_shell_completes(words, completed):
    assert complete(*words) == completed


def test_a_wrong_name_gets_a_suggestion():
    done = run("calibrat")
    assert done.exit_code == 2
    assert "No such command 'calibrat'. Did you mean 'calibrate'?" in done.stderr


def test_the_help_of_a_nested_command_ends_with_the_exit_codes():
    done = run("calibrate", "fit", "--help")
    assert done.exit_code == 0
    assert " ".join(done.stdout.split()).endswith(EPILOG)


def test_without_a_command_it_prints_the_help():
    assert "Vet and measure:" in run().output
