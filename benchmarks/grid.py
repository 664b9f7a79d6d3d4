"""A grid: configurations of agents, rubric and strategy in a TOML file, and what they come to on given data."""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator

from metajudge.errors import ConfigurationError
from metajudge.panels.config import AgentConfig, Discussion, PanelConfig, Rounds, Route, Strategy
from metajudge.types.frozen import Frozen

PUBLISHED = "published"
"""The name under which the grid of the paper is known."""


class Published(Frozen):
    """What the paper prints: category -> precision in per cent."""

    table: str
    cells: dict[str, float]

    @property
    def shares(self) -> dict[str, float]:
        return {category: round(value / 100, 6) for category, value in self.cells.items()}


class GridJudge(Frozen):
    """Whose judgments are vetted, by patterns for the name in the data."""

    name: str
    match: tuple[str, ...] = Field(min_length=1)
    published: Published | None = None

    def matches(self, judge: str) -> bool:
        return any(fnmatch(judge.lower(), pattern.lower()) for pattern in self.match)


class Configuration(Frozen):
    """One row of the grid; agents, roles and summariser are named, the grid says what they are."""

    name: str
    judge: str
    agents: tuple[str, ...] = Field(min_length=1)
    rubric: str = "short"
    strategy: Strategy | None = None
    roles: tuple[str, ...] | None = None
    rounds: Rounds = "independent_first"
    summariser: str | None = None
    routes: dict[str, Route] = Field(default_factory=dict)
    baseline: bool = False
    published: Published | None = None


class Grid(Frozen):
    """A whole grid file."""

    title: str
    source: str = ""
    threshold: float = 4.5
    differences: str = ""
    """How the experiment of the published cells differs from ours; printed with them."""
    notes: tuple[str, ...] = ()
    agents: dict[str, AgentConfig]
    judges: tuple[GridJudge, ...] = Field(min_length=1)
    configurations: tuple[Configuration, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> "Grid":
        judges = [judge.name for judge in self.judges]
        for row in self.configurations:
            if row.judge not in judges:
                raise ValueError(f"configuration {row.name!r} names the judge {row.judge!r}; there are {judges}")
            for agent in (*row.agents, *([row.summariser] if row.summariser else ())):
                if agent not in self.agents:
                    raise ValueError(
                        f"configuration {row.name!r} names the agent {agent!r}; there are {sorted(self.agents)}"
                    )
            if row.roles is not None and len(row.roles) != len(row.agents):
                raise ValueError(f"configuration {row.name!r} has {len(row.agents)} agents but {len(row.roles)} roles")
        names = [(row.judge, row.name) for row in self.configurations]
        repeated = sorted({f"{name} ({judge})" for judge, name in names if names.count((judge, name)) > 1})
        if repeated:
            raise ValueError(f"configurations given more than once: {', '.join(repeated)}")
        return self

    def panel(self, row: Configuration) -> PanelConfig:
        """The configuration as a panel; never stops early, because scores are needed."""
        roles = row.roles or (None,) * len(row.agents)
        agents = tuple(
            self.agents[name].model_copy(update={"name": name, "role": role})
            for name, role in zip(row.agents, roles, strict=True)
        )
        summariser = None
        if row.summariser is not None:
            summariser = self.agents[row.summariser].model_copy(update={"name": "summariser", "role": "summariser"})
        return PanelConfig(
            agents=agents,
            strategy=row.strategy,
            threshold=self.threshold,
            rubric=row.rubric,
            early_exit=False,
            discussion=Discussion(rounds=row.rounds, summariser=summariser),
            routes=row.routes,
        )


def load_grid(name: str) -> Grid:
    """Reads a grid file; ``published`` is the paper's own.

    Raises:
        ConfigurationError: no such file, or what is wrong in it and where.
    """
    try:
        if name == PUBLISHED:
            text = files("metajudge.benchmarks").joinpath("published.toml").read_text("utf-8")
        else:
            text = Path(name).read_text("utf-8")
        return Grid.model_validate(tomllib.loads(text))
    except FileNotFoundError:
        raise ConfigurationError(f"--grid {name}: no such file; `published` is the grid that is built in") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"--grid {name}: cannot be read as TOML: {error}") from None
    except ValidationError as error:
        lines = [f"--grid {name}: {_place(found)}: {found['msg']}" for found in error.errors(include_url=False)]
        raise ConfigurationError("\n".join(lines)) from None


def _place(found: Any) -> str:
    return ".".join(map(str, found["loc"])) or "the file"


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """One configuration and the judge in the data whose judgments it vets.

    Attributes:
        baseline: whether it is what other rows are compared with: the judge's own model as its only agent.
    """

    name: str
    judge: str
    panel: PanelConfig
    baseline: bool = False
    published: Published | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a grid comes to on the data at hand."""

    rows: tuple[PlannedRow, ...]
    published: Mapping[str, Published]
    """Judge in the data -> the paper's cells for its raw judgments."""
    notes: tuple[str, ...] = ()


def plan_grid(grid: Grid, there: Collection[str], chosen: Collection[str] | None, stand_in: str | None = None) -> Plan:
    """Finds the grid's judges in the data.

    A chosen judge that is none of the grid's is vetted by the configurations of the grid's first judge: without
    published cells beside them, and without a baseline, since its own model is not among them.

    Args:
        grid: the grid.
        there: judges in the data.
        chosen: judges asked for; None for the grid's own.
        stand_in: whose judgments to take for a judge that is not in the data (to price a run before they are made).

    Raises:
        ConfigurationError: no judge to run on, or several that could be meant.
    """
    rows: list[PlannedRow] = []
    notes: list[str] = []
    published: dict[str, Published] = {}
    for judge in grid.judges:
        names = [name for name in there if judge.matches(name) and (chosen is None or name in chosen)]
        if len(names) > 1:
            raise ConfigurationError(f"{', '.join(names)} could each be the grid's {judge.name}: choose with --judge")
        if not names and chosen is None:
            notes.append(_missing(judge, stand_in))
            names = [stand_in] if stand_in else []
        own = bool(names) and names[0] != stand_in
        for name in names:
            rows += [_planned(grid, row, name, own=own) for row in grid.configurations if row.judge == judge.name]
            if own and judge.published is not None:
                published[name] = judge.published
    for name in chosen or ():
        if not any(row.judge == name for row in rows):
            first = grid.judges[0]
            rows += [_planned(grid, row, name, own=False) for row in grid.configurations if row.judge == first.name]
            notes.append(f"{name} is none of the grid's judges: the configurations for {first.name} are run on it")
    if not rows:
        raise ConfigurationError(
            f"the data contain no judgments by the grid's judges ({', '.join(judge.name for judge in grid.judges)}); "
            f"judges here: {', '.join(sorted(there)[:20])}. Make them with `metajudge judge`, put them into the data "
            "folder, or choose another judge with --judge"
        )
    return Plan(tuple(rows), published, tuple(notes))


def _missing(judge: GridJudge, stand_in: str | None) -> str:
    there = "its rows are left out" if stand_in is None else f"priced on those of {stand_in} in their place"
    return f"no judgments by {judge.name} in the data: {there}"


def _planned(grid: Grid, row: Configuration, judge: str, *, own: bool) -> PlannedRow:
    name = row.name if own or not row.baseline else f"baseline rubric, {', '.join(row.agents)}"
    return PlannedRow(name, judge, grid.panel(row), row.baseline and own, row.published if own else None)
