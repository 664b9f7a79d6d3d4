"""A grid: configurations of agents, rubric and strategy in a TOML file, their tables, and which rows run on what."""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt, ValidationError, model_validator

from metajudge.errors import ConfigurationError
from metajudge.panels.config import AgentConfig, Discussion, PanelConfig, Rounds, Route, Strategy, Weights
from metajudge.providers.families import kinships
from metajudge.providers.spec import parse_agent_spec
from metajudge.types.frozen import Frozen

from .findings import GridTable
from .observations import Population, named

BUILT_IN = ("published", "ours")
"""Grids that come with the package: the paper's experiment, and our best practice for the same judges."""

OverallRule = Literal["by size", "pooled", "both"]
"""What a printed Overall is: the mean of the category precisions weighted by the pairs of each category, the right ones
of all that were kept, or equal under both (as for raw judgments, of which everything is kept)."""


class Published(Frozen):
    """What the paper prints: category -> precision in per cent."""

    cells: dict[str, Annotated[float, Field(ge=0, le=100)]]
    overall: OverallRule


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
        agents = (*row.agents, *([row.summariser] if row.summariser else ()))
        of = f"configuration {row.name!r}"
        for what, given, there in (
            ("judge", (row.judge,), judges),
            ("agent", agents, sorted(self.agents)),
            ("table", sorted(row.tables), tables),
        ):
            if unknown := [name for name in given if name not in there]:
                raise ValueError(f"{of} names the {what} {unknown[0]!r}; there are {there}")
        if row.roles is not None and len(row.roles) != len(row.agents):
            raise ValueError(f"{of} has {len(row.agents)} agents but {len(row.roles)} roles")
        if tables and not row.tables:
            raise ValueError(f"{of} stands in no table; there are {tables}")

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


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """One configuration and the judge in the data whose judgments it vets.

    Attributes:
        baseline: whether it is what other rows are compared with: the judge's own model as its only agent.
        configuration: the grid's, where the row is of a grid.
        own: whether the judge in the data is the one the grid means.
    """

    name: str
    judge: str
    panel: PanelConfig
    baseline: bool = False
    configuration: Configuration | None = None
    own: bool = False

    @property
    def stands_for(self) -> str:
        """The grid's judge in whose place another one's judgments are priced; those of two such judges would differ."""
        return "" if self.own or self.configuration is None else self.configuration.judge

    @property
    def title(self) -> str:
        """Judge, configuration, agents and rubric, for messages."""
        if self.configuration is None:
            return f"{self.judge}: {self.name}"
        row = self.configuration
        judge = row.judge if self.own or self.judge == row.judge else f"{row.judge} (here {self.judge})"
        return f"{judge}: {self.name} [{' + '.join(row.agents)}; {row.rubrics}]"


@dataclass(frozen=True, slots=True)
class Plan:
    """The rows to run.

    Attributes:
        missing: grid's judge -> why none of its rows runs.
        vetted: grid's judge -> its name in the data.
    """

    rows: tuple[PlannedRow, ...]
    notes: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    vetted: Mapping[str, str] = field(default_factory=dict)


def plan_grid(
    grid: Grid,
    there: Collection[str],
    chosen: Collection[str] | None,
    *,
    present: Mapping[str, int] | None = None,
    stand_in: str | None = None,
) -> Plan:
    """Finds the grid's judges in the data.

    A chosen judge that is none of the grid's is vetted by the configurations of the grid's first judge: without
    published cells beside them, and without a baseline, since its own model is not among them.

    Args:
        chosen: judges asked for; None for the grid's own.
        present: judge -> judgments in the data, those that are not vetted included; None where they are the same.
        stand_in: whose judgments to take for a judge that is not in the data (to price a run before they are made).

    Raises:
        ConfigurationError: no judge to run on, or several that could be meant.
    """
    present = dict.fromkeys(there, 0) if present is None else present
    rows: list[PlannedRow] = []
    missing: dict[str, str] = {}
    vetted: dict[str, str] = {}
    notes: list[str] = []
    for judge in grid.judges:
        names = [name for name in there if judge.matches(name) and (chosen is None or name in chosen)]
        if len(names) > 1:
            raise ConfigurationError(f"{', '.join(names)} could each be the grid's {judge.name}: choose with --judge")
        mine = [row for row in grid.configurations if row.judge == judge.name]
        if names:
            vetted[judge.name] = names[0]
            rows += [PlannedRow(row.name, names[0], grid.panel(row), row.baseline, row, own=True) for row in mine]
        elif chosen is None:
            missing[judge.name] = _why_missing(judge, present)
            if stand_in is None:
                notes.append(f"{missing[judge.name]}: its rows are left out")
            else:
                notes.append(f"{missing[judge.name]}: its rows are priced on those of {stand_in} in their place")
                rows += [PlannedRow(row.name, stand_in, grid.panel(row), configuration=row) for row in mine]
        else:
            missing[judge.name] = f"{judge.name} was not asked for (--judge)"
    for name in chosen or ():
        if name not in vetted.values():
            first = grid.judges[0]
            for row in (row for row in grid.configurations if row.judge == first.name):
                called = f"baseline rubric, {', '.join(row.agents)}" if row.baseline else row.name
                rows.append(PlannedRow(called, name, grid.panel(row), configuration=row))
            notes.append(f"{name} is none of the grid's judges: the configurations for {first.name} are run on it")
    if not rows:
        names = [judge.name for judge in grid.judges]
        absent = all(why.startswith("no judgments") for why in missing.values())
        what = f"the data contain no judgments by the grid's judges ({', '.join(names)})"
        raise ConfigurationError(
            f"{what if absent else '; '.join(missing.values())}; judges here: {named(present)}. Make them with "
            "`metajudge judge`, put them into the data folder, or choose another judge with --judge"
        )
    return Plan(tuple(rows), tuple(notes), missing, vetted)


def _why_missing(judge: GridJudge, present: Mapping[str, int]) -> str:
    found = {name: count for name, count in present.items() if judge.matches(name)}
    if not found:
        return f"no judgments by {judge.name} in the data"
    counts = ", ".join(f"{name} with {count:,} judgments" for name, count in found.items())
    return f"{judge.name} is in the data ({counts}), but none of them is in the population or the sample"


def family_note(rows: Sequence[PlannedRow], candidates: Collection[str]) -> str | None:
    """One line for all agents of the family of a judge or of a candidate; None without any."""
    found: dict[str, dict[str, None]] = {"a judge's family": {}, "the family of a model whose answers were judged": {}}
    of_judge, of_candidates = found.values()
    for row in rows:
        specs = [parse_agent_spec(agent.spec()) for agent in row.panel.agents]
        for kin in kinships([(spec.name, spec.model) for spec in specs], row.judge, candidates):
            if kin.role == "judge":
                of_judge[f"{kin.agent} ({row.judge})"] = None
            else:
                of_candidates[kin.agent] = None
    parts = [f"of {whose} are {', '.join(agents)}" for whose, agents in found.items() if agents]
    return f"models favour their own family's work: {'; '.join(parts)}" if parts else None
