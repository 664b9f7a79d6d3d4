"""What a grid comes to on the data at hand: which rows run on whose judgments, and why others do not."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from metajudge.errors import ConfigurationError
from metajudge.panels.config import AgentConfig, PanelConfig
from metajudge.providers.families import kinships
from metajudge.providers.spec import PROVIDERS, parse_agent_spec

from .grid import Configuration, Grid, GridJudge
from .population import named


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
            rows += [
                PlannedRow(_foreign(row), name, grid.panel(row), configuration=row)
                for row in grid.configurations
                if row.judge == first.name
            ]
            notes.append(f"{name} is none of the grid's judges: the configurations for {first.name} are run on it")
    if not rows:
        raise ConfigurationError(_nothing_to_run(grid, missing, present))
    return Plan(tuple(rows), tuple(notes), missing, vetted)


def _foreign(row: Configuration) -> str:
    return f"baseline rubric, {', '.join(row.agents)}" if row.baseline else row.name


def _why_missing(judge: GridJudge, present: Mapping[str, int]) -> str:
    found = {name: count for name, count in present.items() if judge.matches(name)}
    if not found:
        return f"no judgments by {judge.name} in the data"
    counts = ", ".join(f"{name} with {count:,} judgments" for name, count in found.items())
    return f"{judge.name} is in the data ({counts}), but none of them is in the population or the sample"


def _nothing_to_run(grid: Grid, missing: Mapping[str, str], present: Mapping[str, int]) -> str:
    names = ", ".join(judge.name for judge in grid.judges)
    absent = all(why.startswith("no judgments") for why in missing.values())
    what = f"the data contain no judgments by the grid's judges ({names})" if absent else "; ".join(missing.values())
    return (
        f"{what}; judges here: {named(present)}. Make them with `metajudge judge`, put them into the data folder, or "
        "choose another judge with --judge"
    )


def family_note(rows: Sequence[PlannedRow], candidates: Collection[str]) -> str | None:
    """One line for all agents of the family of a judge or of a candidate; None without any."""
    of_judge: dict[str, None] = {}
    of_candidates: dict[str, None] = {}
    for row in rows:
        specs = [parse_agent_spec(agent.spec()) for agent in row.panel.agents]
        for kin in kinships([(spec.name, spec.model) for spec in specs], row.judge, candidates):
            if kin.role == "judge":
                of_judge[f"{kin.agent} ({row.judge})"] = None
            else:
                of_candidates[kin.agent] = None
    parts = [f"of a judge's family are {', '.join(of_judge)}"] * bool(of_judge)
    parts += [f"of the family of a model whose answers were judged are {', '.join(of_candidates)}"] * bool(
        of_candidates
    )
    return f"models favour their own family's work: {'; '.join(parts)}" if parts else None


def not_sent_settings(agent: AgentConfig) -> tuple[str, ...]:
    """Sampling settings of an agent that its provider's protocol does not know, and so does not send."""
    if PROVIDERS[parse_agent_spec(agent.spec()).provider].protocol != "anthropic":
        return ()
    return tuple(name for name in ("temperature", "top_p", "seed") if getattr(agent, name) is not None)
