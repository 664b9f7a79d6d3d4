"""From the flags of ``metajudge clash`` to a clash over open models."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from metajudge.clashes.clash import Clash, Judge
from metajudge.cli.options import panel_from
from metajudge.errors import ConfigurationError
from metajudge.judging.answers import Candidate
from metajudge.judging.blinding import identifying_names
from metajudge.panels.config import AgentConfig, PanelConfig
from metajudge.providers.families import family_of
from metajudge.providers.model import Model, Parameters
from metajudge.providers.spec import AgentSpec, parse_agent_spec
from metajudge.types import ID_PATTERN, Item
from metajudge.vetting.engine import Engine

_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for."""

    candidates: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    config: Path | None = None
    criteria_model: str | None = None
    given: bool = False
    observers: bool = False
    voters: bool = False
    judge_weight: float | None = None
    candidate_weight: float | None = None
    quorum: int | None = None
    repeats: int = 1
    cycles: int = 1
    regenerate: bool = False
    ties: bool = False
    with_reference: bool = False
    hide_names: bool = True
    temperature: float | None = None
    max_tokens: int | None = None
    criteria_temperature: float = 0.3
    criteria_max_tokens: int = 150
    seed: int = 0
    attempts: int = 3

    def check(self) -> None:
        """Refuses, before anything is read or sent, what makes no sense together.

        Raises:
            ConfigurationError: with what to give instead.
        """
        if not self.given and not self.candidates:
            raise ConfigurationError(
                "no candidate: give --candidate PROVIDER:MODEL for each model that answers, or --responses given"
            )
        if self.observers and self.voters:
            raise ConfigurationError("--observers do not count and --voters do: give one of them")
        if (self.observers or self.voters) and not self.candidates:
            raise ConfigurationError("--observers and --voters are candidates: name their models with --candidate")
        if self.candidate_weight is not None and not self.voters:
            raise ConfigurationError("--candidate-weight needs --voters: observers have no weight")
        if self.cycles > 1 and not self.regenerate:
            raise ConfigurationError("--cycles differ by their answers: add --regenerate, or use --repeats")
        if self.regenerate and self.given:
            raise ConfigurationError("--regenerate makes answers anew, --responses given takes them as they are")
        self.panel()
        self.candidate_specs()

    def panel(self) -> PanelConfig:
        """The judges as a panel whose agents are asked each on its own."""
        panel = panel_from(self.config, list(self.judges))
        if not panel.agents:
            raise ConfigurationError("no judge: give --judge PROVIDER:MODEL, or a --config with agents")
        discussion = type(panel.discussion)()
        return panel.model_copy(update={"strategy": "rejudge", "routes": {}, "quorum": None, "discussion": discussion})

    def candidate_specs(self) -> dict[str, AgentSpec]:
        """Candidate's name -> its model.

        Raises:
            ConfigurationError: a model named twice without names of its own.
        """
        found: dict[str, AgentSpec] = {}
        for text in self.candidates:
            spec = parse_agent_spec(text)
            name = candidate_name(spec.name)
            if name in found:
                raise ConfigurationError(
                    f"candidate {name} is given more than once: name them apart, for instance "
                    f"--candidate one={spec.provider}:{spec.model} --candidate two={spec.provider}:{spec.model}"
                )
            found[name] = spec
        return found


def candidate_name(name: str) -> str:
    """A model's name as a response id: ``meta/llama-3:70b`` becomes ``meta-llama-3-70b``."""
    return name if re.fullmatch(ID_PATTERN, name) else _NOT_IN_IDS.sub("-", name).strip("-") or "candidate"


def build_clash(settings: Settings, engine: Engine, items: Sequence[Item]) -> Clash:
    """The clash over an open engine's models."""
    specs = settings.candidate_specs()
    configs = {name: _config(name, spec, settings) for name, spec in specs.items()}
    parameters = Parameters(temperature=settings.temperature, max_tokens=settings.max_tokens)
    candidates = (
        ()
        if settings.given
        else tuple(Candidate(name, engine.answering_model(config), parameters) for name, config in configs.items())
    )
    judges = _judges(settings, engine)
    weight = 1.0 if settings.candidate_weight is None else settings.candidate_weight
    return Clash(
        judges=judges,
        candidates=candidates,
        observers=_observers(settings, engine, configs, items) if settings.observers or settings.voters else (),
        candidate_weight=weight if settings.voters else None,
        criteria_model=_criteria_model(settings, engine),
        criteria_parameters=Parameters(
            temperature=settings.criteria_temperature, max_tokens=settings.criteria_max_tokens
        ),
        seed=settings.seed,
        quorum=settings.quorum,
        ties=settings.ties,
        hide_identities=settings.hide_names,
        hide_names=names_to_hide(specs, items) if settings.hide_names else (),
        with_reference=settings.with_reference,
    )


def names_to_hide(specs: dict[str, AgentSpec], items: Sequence[Item]) -> tuple[str, ...]:
    """Ids of the candidates' models and what they are made of; the keys of evaluations hold them.

    A candidate's NAME= is not among them: the model does not know it. Families and makers are found by the rule itself.
    """
    names: set[str] = set()
    for spec in specs.values():
        names.update(identifying_names(spec.model, spec.provider))
    for model in {model for item in items for model in (item.models or {}).values()}:
        names.update(identifying_names(model))
    return tuple(sorted(names))


def notices_of(settings: Settings) -> list[str]:
    """What is to be known about a panel before its verdicts are believed."""
    candidates = {str(spec.endpoint) + spec.model: name for name, spec in settings.candidate_specs().items()}
    said = []
    if not settings.hide_names:
        said.append("--keep-names: judges can read who wrote an answer; the verdicts are not blind")
    agents = settings.panel().agents
    if len(agents) == 1 and not settings.voters:
        said.append("one judge cannot agree with itself: no verdict is unanimous, all go to a person")
    for agent in agents:
        spec = parse_agent_spec(agent.spec())
        own = candidates.get(str(spec.endpoint) + spec.model)
        if own is not None:
            said.append(f"judge {spec.name} is candidate {own}, too: it votes on its own answer, without knowing it")
            continue
        kin = [
            name for name, one in settings.candidate_specs().items() if family_of(one.model) == family_of(spec.model)
        ]
        if kin:
            said.append(f"judge {spec.name} is of the same family as candidate {', '.join(kin)}")
    if len(agents) % 2 == 0:
        said.append(f"{len(agents)} judges tie more often than an odd number of them")
    return said


def _config(name: str, spec: AgentSpec, settings: Settings) -> AgentConfig:
    where = f"@{spec.base_url}" if spec.base_url else ""
    return AgentConfig(
        name=name,
        model=f"{spec.provider}:{spec.model}{where}",
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
    )


def _judges(settings: Settings, engine: Engine) -> tuple[Judge, ...]:
    factor = settings.judge_weight if settings.judge_weight is not None else 2.0 if settings.voters else 1.0
    return tuple(
        Judge(agent.name, agent.model, agent.parameters, weight=agent.weight * factor)
        for agent in engine.vetter.default.agents
    )


def _observers(
    settings: Settings, engine: Engine, configs: dict[str, AgentConfig], items: Sequence[Item]
) -> tuple[Judge, ...]:
    """Candidates as judges: asked without the settings of their answers; one that has a response here is told apart."""
    plain = tuple(config.model_copy(update={"temperature": None, "max_tokens": None}) for config in configs.values())
    panel = settings.panel().model_copy(update={"agents": plain})
    responses = {name for item in items for name in item.responses}
    judges = (Judge(agent.name, agent.model, agent.parameters) for agent in engine.variant(panel).default.agents)
    return tuple(
        replace(judge, own=judge.name if not settings.given or judge.name in responses else None) for judge in judges
    )


def _criteria_model(settings: Settings, engine: Engine) -> Model | None:
    if settings.criteria_model is None:
        return None
    panel = panel_from(None, [settings.criteria_model])
    return engine.variant(panel.model_copy(update={"strategy": "rejudge"})).default.agents[0].model
