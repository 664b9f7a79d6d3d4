"""Options in groups: a command receives the fields of a dataclass as one argument."""

from dataclasses import dataclass
from typing import Annotated, get_args

import typer
from typer.testing import CliRunner

from metajudge.cli.options import (
    STRATEGIES,
    complete_agent,
    complete_engine,
    complete_policy,
    complete_strategy,
    takes,
)
from metajudge.panels.config import Strategy


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option(help="In metres.")] = 1
    deep: Annotated[bool, typer.Option("--deep")] = False


@dataclass(frozen=True)
class Colour:
    colour: Annotated[str, typer.Option()] = "red"


def invoke(*words):
    received = []
    app = typer.Typer()

    @app.command()
    @takes("colour_of", Colour)
    @takes("size", Size)
    def paint(name: str, *, size: Size, colour_of: Colour) -> None:
        received.append((name, size, colour_of))

    done = CliRunner().invoke(app, list(words))
    return done, received


def test_groups_arrive_as_instances():
    done, received = invoke("wall", "--width", "3", "--deep", "--colour", "blue")
    assert done.exit_code == 0, done.output
    assert received == [("wall", Size(3, True), Colour("blue"))]


def test_defaults_are_those_of_the_group():
    assert invoke("wall")[1] == [("wall", Size(), Colour())]


def test_the_help_names_every_option_of_every_group():
    text = invoke("--help")[0].output
    assert all(option in text for option in ("--width", "--deep", "--colour", "In metres."))
    assert "--size" not in text


def test_values_are_completed_with_their_meanings_and_from_what_there_is():
    assert [value for value, _ in complete_strategy("s")] == ["single", "signals"]
    assert [value for value, _ in complete_engine("")] == ["local", "ray"]
    assert complete_policy("verdict") == ["verdict", "verdict_score"]
    assert "openai:" in complete_agent("open")
    assert {value for value, _ in STRATEGIES} == set(get_args(Strategy)), "every strategy, and no other"
