"""A grid: configurations of agents, rubric and strategy in a TOML file, and the tables they are shown in."""

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatch
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt, ValidationError, model_validator

from metajudge.errors import ConfigurationError
from metajudge.panels.config import AgentConfig, Discussion, PanelConfig, Rounds, Route, Strategy, Weights
from metajudge.types.frozen import Frozen

from .population import Population

BUILT_IN = ("published", "ours")
"""Grids that come with the package: the paper's experiment, and our best practice for the same judges."""

OverallRule = Literal["by size", "pooled", "both"]
"""What a printed Overall is: the mean of the category precisions weighted by the pairs of each category, the right ones
of all that were kept, or equal under both (as for raw judgments, of which everything is kept)."""


class Published(Frozen):
    """What the paper prints: category -> precision in per cent."""

    cells: dict[str, Annotated[float, Field(ge=0, le=100)]]
    overall: OverallRule

    @property
    def shares(self) -> dict[str, float]:
        return {category: round(value / 100, 6) for category, value in self.cells.items()}


class GridTable(Frozen):
    """One table of the report. ``chart``: its figures are also drawn, as the paper's figure 5."""

    name: str
    caption: str
    chart: bool = False
    notes: tuple[str, ...] = ()


class GridJudge(Frozen):
    """Whose judgments are vetted, by patterns for the name in the data; its raw judgments open the tables named."""

    name: str
    match: tuple[str, ...] = Field(min_length=1)
    tables: tuple[str, ...] = ()
    published: Published | None = None

    def matches(self, judge: str) -> bool:
        return any(fnmatch(judge.lower(), pattern.lower()) for pattern in self.match)


class Configuration(Frozen):
    """One row of the grid; agents, roles and summariser are named, the grid says what they are.

    Attributes:
        tables: the tables the row stands in.
        variant: it is no row of the paper, but shown beside one.
        calibrated: its agents' scores are calibrated, too (one row a judge).
        caveats: what a reader of the row's figures has to know, a sentence each without the full stop.
    """

    name: str
    judge: str
    agents: tuple[str, ...] = Field(min_length=1)
    tables: tuple[str, ...] = ()
    rubric: str = "short"
    weights: Weights | None = None
    strategy: Strategy | None = None
    threshold: float | None = None
    roles: tuple[str, ...] | None = None
    rounds: Rounds = "independent_first"
    summariser: str | None = None
    routes: dict[str, Route] = Field(default_factory=dict)
    baseline: bool = False
    variant: bool = False
    calibrated: bool = False
    caveats: tuple[str, ...] = ()
    published: Published | None = None

    @property
    def rubrics(self) -> str:
        """The rubric, and those of single categories."""
        if self.strategy == "rejudge":
            return "none"
        others: dict[str, list[str]] = {}
        for category, route in self.routes.items():
            if route.rubric is not None:
                others.setdefault(route.rubric, []).append(category)
        return ", ".join([self.rubric, *(f"{name} for {' and '.join(where)}" for name, where in others.items())])


class Grid(Frozen):
    """A whole grid file.

    Attributes:
        settings: of every agent that does not say otherwise, by the names of a panel file.
        prompt_version: the prompt set; None for the panels' default.
        population: which judgments are vetted, and what counts as wrong.
        category_sizes: pairs of each category in the paper's population: the weights of its Overall, and what the data
            must have for its figures to be compared with ours.
    """

    title: str
    source: str = ""
    threshold: float = 4.5
    settings: dict[str, Any] = Field(default_factory=dict)
    prompt_version: PositiveInt | None = None
    population: Population = Population()
    category_sizes: dict[str, PositiveInt] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    agents: dict[str, AgentConfig]
    tables: tuple[GridTable, ...] = ()
    judges: tuple[GridJudge, ...] = Field(min_length=1)
    configurations: tuple[Configuration, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _with_settings(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or not isinstance(given.get("agents"), Mapping):
            return given
        settings = given.get("settings", {})
        agents = {
            name: {**settings, **agent} if isinstance(settings, Mapping) and isinstance(agent, Mapping) else agent
            for name, agent in given["agents"].items()
        }
        return {**given, "agents": agents}

    @model_validator(mode="after")
    def _check(self) -> "Grid":
        for row in self.configurations:
            self._check_names(row)
        names = [(row.judge, row.name) for row in self.configurations]
        repeated = sorted({f"{name} ({judge})" for judge, name in names if names.count((judge, name)) > 1})
        if repeated:
            raise ValueError(f"configurations given more than once: {', '.join(repeated)}")
        tables = {table.name for table in self.tables}
        for judge in self.judges:
            if unknown := sorted(set(judge.tables) - tables):
                raise ValueError(f"judge {judge.name!r} names the table {unknown[0]!r}; there are {sorted(tables)}")
            if sum(row.calibrated for row in self.configurations if row.judge == judge.name) > 1:
                raise ValueError(f"{judge.name} has several configurations with calibrated = true: choose one")
        return self

    def _check_names(self, row: Configuration) -> None:
        judges, tables = [judge.name for judge in self.judges], [table.name for table in self.tables]
        if row.judge not in judges:
            raise ValueError(f"configuration {row.name!r} names the judge {row.judge!r}; there are {judges}")
        for agent in (*row.agents, *([row.summariser] if row.summariser else ())):
            if agent not in self.agents:
                raise ValueError(
                    f"configuration {row.name!r} names the agent {agent!r}; there are {sorted(self.agents)}"
                )
        if row.roles is not None and len(row.roles) != len(row.agents):
            raise ValueError(f"configuration {row.name!r} has {len(row.agents)} agents but {len(row.roles)} roles")
        unknown = sorted(set(row.tables) - set(tables))
        if unknown:
            raise ValueError(f"configuration {row.name!r} names the table {unknown[0]!r}; there are {tables}")
        if tables and not row.tables:
            raise ValueError(f"configuration {row.name!r} stands in no table; there are {tables}")

    def panel(self, row: Configuration) -> PanelConfig:
        """The configuration as a panel; never stops early, because scores are needed.

        Families are left to the grid's own notice: a line for each row would hide the others.
        """
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
            threshold=self.threshold if row.threshold is None else row.threshold,
            rubric=row.rubric,
            weights=row.weights,
            prompt_version=self.prompt_version,
            early_exit=False,
            families="ignore",
            discussion=Discussion(rounds=row.rounds, summariser=summariser),
            routes=row.routes,
        )


def load_grid(name: str) -> Grid:
    """Reads a grid file, or one of :data:`BUILT_IN`.

    Raises:
        ConfigurationError: no such file, or what is wrong in it and where.
    """
    try:
        if name in BUILT_IN:
            text = files("metajudge.benchmarks").joinpath(f"{name}.toml").read_text("utf-8")
        else:
            text = Path(name).read_text("utf-8")
        return Grid.model_validate(tomllib.loads(text))
    except FileNotFoundError:
        built_in = " and ".join(f"`{one}`" for one in BUILT_IN)
        raise ConfigurationError(f"--grid {name}: no such file; {built_in} are the grids that are built in") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"--grid {name}: cannot be read as TOML: {error}") from None
    except ValidationError as error:
        lines = [f"--grid {name}: {_place(found)}: {found['msg']}" for found in error.errors(include_url=False)]
        raise ConfigurationError("\n".join(lines)) from None


def _place(found: Any) -> str:
    return ".".join(map(str, found["loc"])) or "the file"
