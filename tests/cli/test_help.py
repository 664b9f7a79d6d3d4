"""Help and reference: titled options, examples that parse, a page that is what the code says."""

import shlex
from itertools import takewhile
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from metajudge.cli.app import app
from metajudge.cli.examples import EXAMPLES, examples_of
from metajudge.cli.help import FEW, OPTIONS, ORDER, titled
from metajudge.cli.reference import leaves, reference

ROOT = typer.main.get_command(app)
LEAVES = dict(leaves(ROOT, ""))
IMPLIED = ("bench file",)
"""Commands whose last word is implied by what follows."""
PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def options_of(name):
    return [one for one in LEAVES[name].params if one.param_type_name == "option"]


def test_every_command_has_two_examples_and_no_other_name_has_any():
    assert set(EXAMPLES) == set(LEAVES)
    for name, command in LEAVES.items():
        assert len(EXAMPLES[name]) >= (2 if command.params else 1), name


@pytest.mark.parametrize("name", LEAVES)
def test_examples_parse_with_everything_that_is_required(name):
    command = LEAVES[name]
    for line in EXAMPLES[name]:
        words = shlex.split(line)
        pairs = zip(words, name.split(), strict=False)
        depth = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        assert depth >= len(name.split()) - (name in IMPLIED), line
        context = command.context_class(command, info_name=name, **command.context_settings)
        given, _, _ = command.make_parser(context).parse_args(words[depth:])
        missing = [one.name for one in command.params if one.required and given.get(one.name) in (None, ())]
        assert not missing, line


def test_many_options_are_listed_under_titles_each_once_and_few_under_one():
    for name in LEAVES:
        options = options_of(name)
        groups = list(titled(options))
        assert sorted(one.name for _, group in groups for one in group) == sorted(one.name for one in options)
        titles = [title for title, _ in groups]
        assert titles == ([OPTIONS] if len(options) <= FEW else [title for title in ORDER if title in titles])


def test_no_option_of_a_long_help_is_left_without_a_title_but_those_of_one_command():
    groups = dict(titled(options_of("vet")))
    assert "Other options" not in groups
    assert {one.opts[0] for one in groups["Models and method"]} >= {"--agent", "--rubric", "--strategy", "--threshold"}
    assert [one.opts[0] for one in groups["Input"]] == ["--judge", "--limit"]
    assert "--judge" in {one.opts[0] for one in dict(titled(options_of("judge")))["Models and method"]}


def test_the_help_shows_the_examples_uncut_before_the_exit_codes():
    shown = CliRunner().invoke(app, ["vet", "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).stdout
    for line in examples_of("vet"):
        assert f"\n  {line}\n" in shown
    assert shown.index("Examples:") < shown.index("Exit codes:")


def test_the_page_of_the_documentation_is_that_of_the_code():
    assert PAGE.read_text("utf-8") == reference(), "run: python -m metajudge.cli.reference > docs/cli.md"
