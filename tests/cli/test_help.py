"""Help, reference and completion: examples that parse, a page that is what the code says."""

import shlex
from pathlib import Path
from typing import get_args

import pytest
import typer

from metajudge.cli.app import app
from metajudge.cli.help import written
from metajudge.cli.options import STRATEGIES, complete_agent, complete_policy, complete_strategy
from metajudge.cli.reference import leaves, reference
from metajudge.panels.config import Strategy

ROOT = typer.main.get_command(app)
LEAVES = dict(leaves(ROOT, ""))
PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.parametrize("name", LEAVES)
def test_examples_parse_with_everything_that_is_required(name):
    command = LEAVES[name]
    for line in written().examples[name]:
        context = command.context_class(command, info_name=name, **command.context_settings)
        given, _, _ = command.make_parser(context).parse_args(shlex.split(line))
        missing = [one.name for one in command.params if one.required and given.get(one.name) in (None, ())]
        assert not missing, line


def test_the_page_of_the_documentation_is_that_of_the_code():
    assert PAGE.read_text("utf-8") == reference(), "run: python -m metajudge.cli.reference > docs/cli.md"


def test_values_are_completed_with_their_meanings_and_from_what_there_is():
    assert [value for value, _ in complete_strategy("s")] == ["single", "signals"]
    assert complete_policy("verdict") == ["verdict", "verdict_score"]
    assert "openai:" in complete_agent("open")
    assert {value for value, _ in STRATEGIES} == set(get_args(Strategy)), "every strategy, and no other"
