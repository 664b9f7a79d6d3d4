"""Panels by name, each built once over the one shared engine."""

import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from metajudge import __version__
from metajudge.decision import BUILTIN_POLICIES, Policy
from metajudge.errors import ConfigurationError, PolicyError
from metajudge.feedback.loop import POLICY
from metajudge.panels.config import PanelConfig
from metajudge.providers import tracing
from metajudge.providers.model import Model
from metajudge.providers.spec import parse_agent_spec
from metajudge.rubric import BUILTIN_RUBRICS, load_rubric
from metajudge.rubric.yaml_documents import looks_like_path
from metajudge.session import Respondent
from metajudge.store.protocol import Store
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.types import AgentResult, Assessment, Judgment
from metajudge.vetting.engine import Engine
from metajudge.vetting.policies import check_panels, mismatch

from .rubrics import Rubrics

try:
    from opentelemetry import _logs, propagate, trace
except ImportError:
    propagate = None  # type: ignore[assignment]

EVENT = "gen_ai.evaluation.result"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable of OpenTelemetry's own instrumentations that lets texts out."""
_CAPTURED = frozenset({"true", "event_only", "span_and_event"})


async def traced(
    judgment: Judgment, work: Callable[[], Coroutine[Any, Any, Assessment]], headers: Mapping[str, str] | None = None
) -> Assessment:
    """Runs a vet in a span with one event ``gen_ai.evaluation.result`` for each agent and one for the assessment.

    Args:
        headers: the request's headers; they may contain a parent trace.
    """
    tracer = tracing.tracer()
    if tracer is None or propagate is None:
        return await work()
    parent = propagate.extract(headers) if headers else None
    with tracer.start_as_current_span(
        "metajudge.vet", context=parent, links=_links(judgment), record_exception=False, set_status_on_exception=False
    ) as span:  # errors may quote judged text: they are only logged
        span.set_attribute("metajudge.judgment.id", judgment.id)
        found = await work()
        if span.is_recording():
            for name, value in _attributes(found).items():
                span.set_attribute(name, value)
        logger = event_logger()
        for attributes in _events(judgment, found, texts=captures_texts()):
            if logger is None:
                span.add_event(EVENT, attributes)
            else:  # the record has the ids of the current span
                logger.emit(event_name=EVENT, attributes=attributes, severity_number=_logs.SeverityNumber.INFO)
        return found


def event_logger() -> Any:
    """What events are emitted by; None where no logger provider is set up."""
    provider = _logs.get_logger_provider()
    return provider.get_logger("metajudge", __version__) if hasattr(provider, "add_log_record_processor") else None


def captures_texts() -> bool:
    """Whether explanations may be part of events."""
    return os.environ.get(CAPTURE, "").strip().lower() in _CAPTURED


def _links(judgment: Judgment) -> list[Any]:
    """The span of what was judged, where the caller says it."""
    given = judgment.meta.get("traceparent")
    if not isinstance(given, str):
        return []
    context = trace.get_current_span(propagate.extract({"traceparent": given})).get_span_context()
    return [trace.Link(context)] if context.is_valid else []


def _attributes(found: Assessment) -> dict[str, Any]:
    attributes = {
        "metajudge.status": found.status.value,
        "metajudge.strategy": found.strategy,
        "metajudge.accepted": found.kept,
        "metajudge.probability": found.probability,
        "metajudge.decision": None if found.decision is None else found.decision.action.value,
        "metajudge.calls": found.calls,
        "gen_ai.usage.input_tokens": found.usage.input_tokens,
        "gen_ai.usage.output_tokens": found.usage.output_tokens,
    }
    return _present(attributes)


def _events(judgment: Judgment, found: Assessment, *, texts: bool) -> Iterator[dict[str, Any]]:
    """The attributes of each event: first of the agents, then of the assessment."""
    response = judgment.meta.get("gen_ai.response.id")
    about = {
        "gen_ai.response.id": response if isinstance(response, str) else None,
        "metajudge.judgment.id": judgment.id,
        "metajudge.judge": judgment.judge,
        "metajudge.evaluator.version": found.metajudge_version,
        "metajudge.evaluator.panel": found.panel_digest,
    }
    for agent in (one for one in found.agents if one.skipped is None):
        yield _present({**_of_agent(agent, texts=texts), **about})
    yield _present({**_of_assessment(found, texts=texts), **about})


def _of_agent(agent: AgentResult, *, texts: bool) -> dict[str, Any]:
    said = [one.explanation for one in (agent.criteria or {}).values() if one.explanation] if texts else []
    return {
        "gen_ai.evaluation.name": agent.agent,
        "gen_ai.evaluation.score.value": agent.score,
        "gen_ai.evaluation.explanation": " ".join(said) or None,
        "gen_ai.request.model": agent.model,
        "metajudge.evaluator.kind": "model",
        "metajudge.evaluator.name": agent.agent,
        "error.type": None if agent.failure is None else agent.failure.kind.value,
    }


def _of_assessment(found: Assessment, *, texts: bool) -> dict[str, Any]:
    return {
        "gen_ai.evaluation.name": "metajudge",
        "gen_ai.evaluation.score.value": found.final_score,
        "gen_ai.evaluation.score.label": found.do.action,
        "gen_ai.evaluation.explanation": found.do.reason if texts else None,
        "metajudge.probability": found.probability,
        "metajudge.evaluator.kind": "model" if found.agents else "code",
        "metajudge.evaluator.name": "metajudge",
        "error.type": None if found.failure is None else found.failure.kind.value,
    }


def _present(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


class Choice(BaseModel):
    """How to vet; all settings are names, never files or addresses."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    panel: str | None = Field(default=None, description="A panel of this service; default: the first one.")
    rubric: str | None = Field(
        default=None, description="A rubric in place of the panel's, by name.", examples=["short"]
    )
    strategy: StrategyName | None = Field(default=None, description="A strategy in place of the panel's.")
    policy: str | None = Field(
        default=None,
        description="A decision policy by name: the assessment gets its decision.",
        examples=["verdict_score"],
    )


class Panels:
    """The panels and rubrics callers may choose by name."""

    def __init__(self, engine: Engine, panels: Mapping[str, PanelConfig], rubrics: Rubrics | None = None) -> None:
        self._engine = engine
        self.rubrics = rubrics or Rubrics(None)
        self._panels = panels
        self._default = next(iter(panels))
        self._built: dict[tuple[str, str | None, str, StrategyName | None], Vetter] = {}
        for name in panels:  # a panel that cannot be built stops the start, not the first request
            self.vetter(Choice(panel=name))

    @property
    def configs(self) -> Mapping[str, PanelConfig]:
        """The configured panels."""
        return self._panels

    async def vet(
        self,
        judgment: Judgment,
        choice: Choice,
        others: Sequence[Judgment] = (),
        heard: Callable[[AgentResult], None] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Assessment:
        """Vets one judgment, in its own trace; ``others`` are evidence.

        Args:
            heard: called with each agent's result as it completes.
            headers: the request's headers; they may contain a parent trace.

        Raises:
            ConfigurationError: an unknown panel or rubric.
            PolicyError: an unknown policy.
        """
        _refuse_files(choice)
        vetter = self.vetter(choice)

        async def vetted() -> Assessment:
            policy = await self._policy(choice, vetter)
            return await self._engine.vet(judgment, others=others, vetter=vetter, policy=policy, heard=heard)

        return await traced(judgment, vetted, headers)

    async def check(self, choice: Choice) -> None:
        """Refuses unknown names before any work is done.

        Raises:
            ConfigurationError: an unknown panel or rubric, a policy that is a file, or one that does not fit the panel.
            PolicyError: an unknown policy.
        """
        _refuse_files(choice)
        await self._policy(choice, self.vetter(choice))

    async def _policy(self, choice: Choice, vetter: Vetter) -> Policy | None:
        """The version in force of the policy of a choice; None without one.

        Raises:
            ConfigurationError: a policy that does not fit the panel, or whose decisions on it would mean little.
        """
        if choice.policy is None:
            return None
        policy = await self.policy(choice.policy)
        panels = (vetter.default, *vetter.routes.values())
        check_panels(policy, panels)
        remark = mismatch(policy, panels, calibrated=self._engine.calibration is not None)
        if remark is not None and policy.basis == "score":  # without a probability each decision has the reason
            raise ConfigurationError(remark)
        return policy

    async def policy(self, name: str) -> Policy:
        """The version in force of a policy.

        Raises:
            ConfigurationError: an unknown policy; the message names those that this service has.
        """
        try:
            return await self._engine.policy_in_force(name)
        except PolicyError:
            names = await policy_names(self._engine.store)
            if name in names:
                raise
            raise ConfigurationError(f"unknown policy {name!r}; this service has {', '.join(names)}") from None

    def reads_evidence(self, choice: Choice) -> bool:
        """Whether other judgments of the item can change the assessment."""
        vetter = self.vetter(choice)
        panels = (vetter.default, *vetter.routes.values())
        return self._engine.calibration is not None or any(panel.strategy is StrategyName.SIGNALS for panel in panels)

    def respondents(self, panel: str | None, *, weighted: bool = False) -> list[Respondent]:
        """The agents of a panel for tasks other than vetting; the panel's seed applies to those without their own.

        Args:
            weighted: whether the task uses agents' weights.

        Raises:
            ConfigurationError: an unknown panel, or one without agents.
        """
        config = self._config(panel or self._default)
        if not config.agents:
            raise ConfigurationError("panel: this panel has no agents: choose one with agents")
        return self._engine.models(config, weighted=weighted)

    def model(self, name: str) -> Model:
        """The model behind an agent of any panel, by the agent's name.

        Raises:
            ConfigurationError: no agent has that name.
        """
        agents = [agent for config in self._panels.values() for agent in config.all_agents]
        found = next((agent for agent in agents if parse_agent_spec(agent.spec()).name == name), None)
        if found is None:
            known = sorted({parse_agent_spec(agent.spec()).name for agent in agents})
            raise ConfigurationError(f"unknown agent {name!r}; this service has {', '.join(known) or 'none'}")
        return self._engine.models([found])[0].model

    def _config(self, name: str) -> PanelConfig:
        if name not in self._panels:
            raise ConfigurationError(f"unknown panel {name!r}; this service has {', '.join(self._panels)}")
        return self._panels[name]

    def vetter(self, choice: Choice) -> Vetter:
        """The panel of a choice.

        Raises:
            ConfigurationError: an unknown panel or rubric.
        """
        name = choice.panel or self._default
        base = self._config(name)
        rubric, strategy = choice.rubric, choice.strategy
        version = ""
        if rubric is not None and rubric not in BUILTIN_RUBRICS:
            rubric = self.rubrics.source(rubric)
            version = load_rubric(rubric).digest
        key = (name, rubric, version, strategy)
        found = self._built.get(key)
        if found is None:
            for old in [one for one in self._built if one[:2] == key[:2] and one[2] != version]:
                del self._built[old]  # the rubric has changed
            config = base
            if rubric is not None:
                agents = tuple(agent.model_copy(update={"rubric": None}) for agent in config.agents)
                config = config.model_copy(update={"rubric": rubric, "agents": agents, "weights": None})
            if strategy is not None:
                config = config.model_copy(update={"strategy": strategy.value})
            found = self._engine.variant(config)
            if choice.rubric is not None and rubric != choice.rubric:
                found = _naming(found, str(rubric), choice.rubric)
            self._built[key] = found
        return found


async def policy_names(store: Store | None) -> list[str]:
    """Built-in policies, then those that have decided something or were added to the store."""
    kept = set() if store is None else {entry.subject for entry in await store.audit_log.entries(POLICY)}
    return [*BUILTIN_POLICIES, *sorted(kept - set(BUILTIN_POLICIES))]


def _refuse_files(choice: Choice) -> None:
    if choice.policy is not None and looks_like_path(choice.policy):
        raise ConfigurationError(f"policy {choice.policy!r} looks like a file: give a policy's name")


def _naming(vetter: Vetter, file: str, name: str) -> Vetter:
    """A vetter whose assessments contain the rubric's name instead of its file."""

    def renamed(panel: Panel) -> Panel:
        return replace(panel, rubric=name) if panel.rubric == file else panel

    routes = {category: renamed(panel) for category, panel in vetter.routes.items()}
    return replace(vetter, default=renamed(vetter.default), routes=routes)
