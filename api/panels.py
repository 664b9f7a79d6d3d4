"""What callers choose by name: panels, each built once over the one shared engine, and rubrics.

Rubrics are built-in ones, and files next to the store added by an administrator.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from fastapi import HTTPException
from fastapi import Path as PathParameter
from pydantic import Field

from metajudge.decision import BUILTIN_POLICIES, Policy
from metajudge.errors import ConfigurationError, MetajudgeError, PolicyError, RubricError, StoreError
from metajudge.feedback.loop import POLICY
from metajudge.files.replacing import replacing
from metajudge.files.yaml_documents import looks_like_path
from metajudge.panels.config import PanelConfig
from metajudge.providers.model import Model
from metajudge.providers.spec import parse_agent_spec
from metajudge.rubric import BUILTIN_RUBRICS, CASE_RUBRICS, Rubric, list_rubrics, load_rubric
from metajudge.session import Respondent
from metajudge.store import Store
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.types import AgentResult, Assessment, Judgment
from metajudge.types.frozen import Frozen
from metajudge.vetting.engine import Engine
from metajudge.vetting.policies import check_panels, mismatch

from .errors import answered_as
from .tracing import traced

NAME = r"^[A-Za-z0-9_-]{1,60}$"
REFRESH_S = 2.0
Name = Annotated[str, PathParameter(pattern=NAME, examples=["short"])]


class Rubrics:
    """Rubrics in a folder, one file each; None for built-in ones alone."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._taken: dict[str, str] = {}

    def names(self) -> list[str]:
        """The names callers may use."""
        own = [] if self._folder is None else sorted(path.stem for path in self._folder.glob("*.json"))
        return [*BUILTIN_RUBRICS, *own]

    def all(self) -> list[Rubric]:
        return [*list_rubrics(), *(self.load(name) for name in self.names()[len(BUILTIN_RUBRICS) :])]

    def load(self, name: str) -> Rubric:
        """One rubric.

        Raises:
            HTTPException: 404.
        """
        with answered_as({RubricError: 404}):
            source = self.source(name)
        return load_rubric(source)

    def source(self, name: str) -> str:
        """The rubric as a panel's configuration names it: a built-in name, or a file.

        Raises:
            RubricError: no rubric has this name.
        """
        if name in BUILTIN_RUBRICS:
            return name
        if name not in self.names():
            raise RubricError(f"unknown rubric {name!r}; this service has {', '.join(self.names())}")
        assert self._folder is not None
        return str(self._folder / f"{name}.json")

    async def keep(self, name: str, rubric: Rubric, store: Store, *, by: str) -> Rubric:
        """Stores a rubric, and its content and author in the audit log.

        Raises:
            HTTPException: 409 for a built-in name, 422 for a name other than the rubric's.
            StoreError: the service has no store.
        """
        if name in BUILTIN_RUBRICS + CASE_RUBRICS:
            raise HTTPException(409, f"{name!r} is built in: choose another name")
        if self._folder is None:
            raise StoreError("this service has no store: start it with --store")
        if rubric.name != name:
            raise HTTPException(422, f"name: the rubric is named {rubric.name!r}, but the path has {name!r}")
        text = rubric.model_dump_json()
        record = {"digest": rubric.digest, "by": by, "rubric": rubric.model_dump(mode="json")}
        await store.audit_log.append("rubric", name, record, now=time.time())
        self._write(name, text)
        return rubric

    async def refresh(self, store: Store) -> None:
        """Adds the rubrics in the audit log, which may have been given to other processes."""
        known = {entry.subject: entry.payload["rubric"] for entry in await store.audit_log.entries("rubric")}
        for name, rubric in known.items():
            text = Rubric.model_validate(rubric).model_dump_json()
            if self._taken.get(name) != text:
                self._write(name, text)

    async def keep_fresh(self, store: Store) -> None:
        """Refreshes until cancelled."""
        while True:
            await asyncio.sleep(REFRESH_S)
            with contextlib.suppress(MetajudgeError):  # the store is unavailable: retried next time
                await self.refresh(store)

    def _write(self, name: str, text: str) -> None:
        assert self._folder is not None
        self._folder.mkdir(exist_ok=True)
        with replacing(self._folder / f"{name}.json") as part:
            part.write_text(text, "utf-8")
        self._taken[name] = text


class Choice(Frozen):
    """How to vet; all settings are names, never files or addresses."""

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
    """The panels and rubrics callers may choose by name; ``configs``: the configured panels."""

    def __init__(self, engine: Engine, panels: Mapping[str, PanelConfig], rubrics: Rubrics | None = None) -> None:
        self._engine = engine
        self.rubrics = rubrics or Rubrics(None)
        self.configs = panels
        self._default = next(iter(panels))
        self._built: dict[tuple[str, str | None, str, StrategyName | None], Vetter] = {}
        for name in panels:  # a panel that cannot be built stops the start, not the first request
            self.vetter(Choice(panel=name))

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
        panels = vetter.panels
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
        panels = self.vetter(choice).panels
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
        agents = [agent for config in self.configs.values() for agent in config.models]
        found = next((agent for agent in agents if parse_agent_spec(agent.spec()).name == name), None)
        if found is None:
            known = sorted({parse_agent_spec(agent.spec()).name for agent in agents})
            raise ConfigurationError(f"unknown agent {name!r}; this service has {', '.join(known) or 'none'}")
        return self._engine.models([found])[0].model

    def _config(self, name: str) -> PanelConfig:
        if name not in self.configs:
            raise ConfigurationError(f"unknown panel {name!r}; this service has {', '.join(self.configs)}")
        return self.configs[name]

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
