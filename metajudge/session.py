"""The session: what every task is given to ask models and to keep what comes back."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from metajudge.errors import ConfigurationError
from metajudge.panels.building import agent_name, build_agent_model, endpoint_limits, parameters_of
from metajudge.panels.config import AgentConfig, PanelConfig, unused_sections, unused_settings, with_flags
from metajudge.prompts.reply_form import MAX_ANALYSIS_WORDS
from metajudge.prompts.versions import FIRST, NEWEST, check_version, continues, prompt_sets
from metajudge.providers.budget import Budget
from metajudge.providers.limits import DEFAULT_CONCURRENCY, LimitSettings
from metajudge.providers.metering import Meter
from metajudge.providers.model import Model, Parameters
from metajudge.providers.notices import Notices
from metajudge.providers.retry import RetryPolicy
from metajudge.providers.spec import AgentSpec
from metajudge.providers.stack import Resources
from metajudge.runs.loop import RunEnd, Stop
from metajudge.runs.totals import RunTotals
from metajudge.settings import Settings
from metajudge.store import RunRecord, Store
from metajudge.types.location import PostgresUrl, StoreLocation

if TYPE_CHECKING:
    from metajudge.decision import Policy
    from metajudge.feedback.loop import PoliciesInForce
    from metajudge.outcomes.sending import Sender
    from metajudge.providers.batch_queue import BatchQueue, BatchSettings
    from metajudge.webhooks.webhook import Webhook

Agents = Sequence[str | Model]

_A_YEAR_S = 365 * 86400.0
_BATCHES_A_CALL = 3
"""Batches that one call may go through when it expires or fails, a day each."""


@dataclass(frozen=True, slots=True)
class Respondent:
    """A model as a task asks it.

    Attributes:
        weight: of its vote, where the task weighs votes.
        prompt_version: of the prompt set.
        analysis_words: how long an analysis may be that a reply opens with.
        dropped: settings of the agent that the task does not use.
    """

    name: str
    model: Model
    parameters: Parameters
    weight: float = 1.0
    dropped: tuple[str, ...] = ()
    prompt_version: int = NEWEST
    analysis_words: int = MAX_ANALYSIS_WORDS

    @property
    def notice(self) -> str | None:
        """The notice about dropped settings; None where none were dropped."""
        if not self.dropped:
            return None
        return f"agent {self.name}: {', '.join(self.dropped)} dropped: only vetting uses such settings"


Respondents = Sequence[str | AgentConfig | Model | Respondent]
"""Models to ask, in any form that :meth:`Session.models` takes."""


class Session:
    """Store, models, limits, budget, batches, notices and run record; use it as ``async with Session(...)``.

    Args:
        agents: ``[NAME=]PROVIDER:MODEL[@BASE_URL]`` or :class:`~metajudge.providers.model.Model` objects. An object
            with the name of one of the panel's agents answers in its place; another one is added.
        panel: agents, limits and retries of a panel file; agents given as text replace its agents.
        seed: sent to models that take one, and recorded.
        store: a path or a postgresql:// URL, an open store (left open), or None to keep nothing.
        concurrency: calls in flight at most; None for 64, where a server on this machine begins with four.
        budget_usd: dollars this session may spend; a model without a known price is refused then.
        budget: in place of ``budget_usd``, a budget in any currency, perhaps shared; the caller closes it.
        batch: ask through the providers' batch APIs, at half price and within a day; the same run again continues.
        settings: where keys come from; read from the environment by default.
        notify: receives each notice (a dropped setting, an unknown price) once.
        command: recorded with the run.
        shared_limits: whether calls in flight, requests and tokens a minute hold for all processes that open the same
            PostgreSQL store with this; over another store, or none, they hold for this process alone.
        webhook: receives the outcomes that this session's runs decide.

    Attributes:
        notify: the same callable, for sentences on the progress of a run.

    Raises:
        ConfigurationError: on entering, see :mod:`metajudge.errors`.
    """

    def __init__(
        self,
        agents: Agents = (),
        *,
        panel: PanelConfig | None = None,
        seed: int | None = None,
        store: str | StoreLocation | Store | None = None,
        concurrency: int | None = None,
        budget_usd: float | None = None,
        budget: Budget | None = None,
        batch: "BatchSettings | None" = None,
        settings: Settings | None = None,
        notify: Callable[[str], None] | None = None,
        command: str = "python",
        shared_limits: bool = False,
        webhook: "Webhook | None" = None,
    ) -> None:
        self._webhook = webhook
        self._shared_limits = shared_limits
        self.objects = _by_name(agents)
        config = with_flags(panel or PanelConfig(), [one for one in agents if isinstance(one, str)], seed=seed)
        self.config = _with_objects(config, self.objects)
        self.command = command
        self.run_id = uuid.uuid4().hex[:12]
        self.settings = settings
        self._store_given = store
        self._store: Store | None = None
        at_once, rate = concurrency or DEFAULT_CONCURRENCY, config.requests_per_minute
        self._limits = LimitSettings(at_once, requests_per_minute=rate, given=concurrency is not None)
        self._concurrency = self._limits.concurrency
        if budget is not None and budget_usd is not None:
            raise ConfigurationError("give budget or budget_usd, not both")
        self._budget = Budget(usd=budget_usd) if budget is None else budget
        self._batch = batch
        self._batches: BatchQueue | None = None
        self._notices = Notices(notify)
        self.notify = notify or (lambda _sentence: None)
        self._opened: Resources | None = None
        self._policies: PoliciesInForce | None = None
        self._recorded = False
        self._prompt_set = NEWEST
        self._held: str | None = None
        self._joined = False  # whether another process records the run
        self._finished = False

    @classmethod
    def for_estimate(cls, panel: PanelConfig) -> Self:
        """A session whose models only render requests, for estimates: it needs no key and is not opened."""
        session = cls(panel=panel)
        session._opened = Resources(key_for=lambda _spec: "not-sent", notices=session._notices)
        return session

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *_ended: object) -> None:
        await self._close()

    @property
    def resources(self) -> Resources:
        """What the models of this session share.

        Raises:
            ConfigurationError: the session is not open.
        """
        if self._opened is None:
            name = type(self).__name__
            raise ConfigurationError(f"the {name.lower()} is not open: use it as `async with {name}(...)`")
        return self._opened

    @property
    def meter(self) -> Meter:
        """Counts of calls, tokens and dollars so far."""
        return self._opened.meter if self._opened else Meter()

    @property
    def store(self) -> Store | None:
        """The open store, None where nothing is kept."""
        return self._store

    @property
    def notices(self) -> tuple[str, ...]:
        """The notices so far: dropped settings, unknown prices."""
        return self._notices.lines

    @property
    def workers(self) -> int:
        """Records worked on at once: as many as calls in flight, and more where calls wait for batches."""
        return self._concurrency if self._batch is None else max(self._concurrency, self._batch.in_flight)

    @property
    def grace_s(self) -> float:
        """Seconds that calls in flight get once a run is to stop: batches that are paid for are waited for."""
        return 10.0 if self._batch is None else _A_YEAR_S

    def models(
        self, agents: Respondents | PanelConfig | None = None, *, weighted: bool = False, streaming: bool = False
    ) -> list[Respondent]:
        """Models for any task but vetting, over this session's connections, limits, budget and store.

        Settings of an agent that only vetting uses (role, rubric, samples and so on) are dropped, and a notice says so.

        Args:
            agents: as text, as configured, as objects, or as this method returned them; None for the session's own; a
                panel for its agents with its seed.
            weighted: whether the task uses agents' weights.
            streaming: answers come as a stream of free text, so that the time to the first token is known.

        Raises:
            ConfigurationError: no agent, two of one name, no key, no price under a budget, an unknown prompt set, or a
                session not open.
        """
        panel = self.config
        if isinstance(agents, PanelConfig):
            panel, agents = agents, agents.agents
        check_version(panel.prompt_set)
        if self._held is not None and panel.prompt_version is None:
            self.note(self._held)
        given = panel.agents if agents is None else agents
        own = [one for one in given if not isinstance(one, str | AgentConfig | Respondent)]
        objects = {**self.objects, **_by_name(own)}
        found: dict[str, Respondent] = {}
        for one in given:
            if not isinstance(one, Respondent):
                one = self._respondent(_configured(one), objects, weighted, streaming, panel)
            if one.name in found:
                raise ConfigurationError(
                    f"agent {one.name} is given more than once: name the agents apart with NAME=PROVIDER:MODEL"
                )
            if one.notice is not None:
                self.note(one.notice)
            found[one.name] = one
        if not found:
            raise ConfigurationError("no model to ask: give an agent, PROVIDER:MODEL, or a panel with agents")
        return list(found.values())

    def go_on_under(self, used: Iterable[str | None], digest_of: Callable[[int], str]) -> None:
        """Keeps to the newest prompt set that the records of a file were made by, where the panel names none.

        Args:
            used: digests of the templates that they record.
            digest_of: the digest of a set's templates.
        """
        found = {one for one in used if one is not None}
        held = [version for version in prompt_sets() if digest_of(version) in found] if found else []
        if held and self.config.prompt_version is None:
            self._prompt_set, self._held = held[-1], None
            if held[-1] != NEWEST:
                self._held = continues(held[-1], "the file that is continued has results")

    def note(self, notice: str) -> None:
        """Adds a notice, and passes it to ``notify``, once."""
        self._notices.say(notice)

    def connect(self) -> None:
        """Imports and opens what sends requests now, rather than while the first call waits."""
        self.resources.connect()

    def output_mode(self, spec: AgentSpec) -> str:
        """How a model is asked for structured output, as found out so far: json_schema, json_object or text."""
        return "unknown" if self._opened is None else self._opened.output_mode(spec)

    async def policy_in_force(self, given: "str | Path | Policy") -> "Policy":
        """A policy as given, or by its name: the version last activated in the store; its content is kept there.

        Raises:
            PolicyError: no such policy, or a file that is not one.
        """
        from metajudge.feedback.loop import PoliciesInForce, policy_in_force
        from metajudge.files.yaml_documents import looks_like_path

        if self._store is None or not isinstance(given, str) or looks_like_path(given):
            return await policy_in_force(given, self._store)
        if self._policies is None:
            self._policies = PoliciesInForce(self._store)
        return await self._policies.named(given)

    @asynccontextmanager
    async def recording(
        self, totals: RunTotals, stop: Stop | None = None, webhook: "Webhook | None" = None
    ) -> AsyncIterator["Sender | None"]:
        """Records a run: how it ended and what it took, whatever ends it.

        Args:
            totals: of the task; ``end`` is set by the body, calls and dollars are set here.
            stop: an interruption through it leaves batches to their provider.
            webhook: receives the outcomes that are decided meanwhile; None for the session's.
        """
        totals.run_id = self.run_id
        if stop is not None:
            stop.on_ask(lambda end: self._leave_batches() if end is RunEnd.INTERRUPTED else None)
        try:
            async with self._sending(totals, webhook or self._webhook) as sender:
                yield sender
        except asyncio.CancelledError:
            totals.end = RunEnd.INTERRUPTED
            raise
        except BaseException:
            totals.end = RunEnd.FAILED
            raise
        finally:
            totals.account(self.meter, self.notices)
            await self.finish(totals.end.value, totals.to_json())

    @asynccontextmanager
    async def _sending(self, totals: RunTotals, webhook: "Webhook | None") -> AsyncIterator["Sender | None"]:
        if webhook is None or self._store is None:
            yield None
            return
        from metajudge.outcomes.sending import sending

        async with sending(self._store, webhook, self.notify, resume=True) as sender:
            yield sender
        totals.webhook = asdict(sender.counts)

    async def finish(self, status: str, summary: Mapping[str, Any]) -> None:
        """Records how the run ended; closing alone records the calls."""
        if self._store is not None:
            self._finished = True
            await self._store.finish_run(self.run_id, status, time.time(), summary)

    async def _prepare(self) -> dict[str, Any]:
        """What a subclass does once connections stand; returns what the run's record says about it besides."""
        return {}

    async def _open(self) -> None:
        self.settings = self.settings or Settings.load()
        given = self._store_given
        if isinstance(given, str | Path | PostgresUrl):
            from metajudge.store import open_store

            self._store = await open_store(given)
        else:
            self._store = given
        resources = Resources(
            key_for=self.settings.key_for,
            cache=self._store,
            ledger=self._store,
            run_id=self.run_id,
            limits=self._limits,
            endpoint_limits=endpoint_limits(self.config, self._limits),
            retry=self.retry,
            budget=self._budget or None,
            keeper=getattr(self._store, "limits", None) if self._shared_limits else None,
            seed=self.config.seed,
            notices=self._notices,
            tell=self.notify,
        )
        if self._batch is not None:
            from metajudge.providers.batch_queue import BatchQueue

            self._batches = resources.batches = BatchQueue(self._batch, self.notify)
        self._opened = resources
        panel = self.config.model_dump(mode="json")
        if self._store is not None and self.config.prompt_version is None:
            self._prompt_set = await self._held_prompt_set(panel)
        config = {
            "prompt_version": self.config.prompt_version or self._prompt_set,
            "panel": panel,
            **await self._prepare(),
        }
        if self._store is not None and not self._joined:
            await self._store.start_run(RunRecord(self.run_id, self.command, time.time(), "running", config))
            self._recorded = True

    def _respondent(
        self, config: AgentConfig, objects: Mapping[str, Model], weighted: bool, streaming: bool, panel: PanelConfig
    ) -> Respondent:
        resources = self.resources
        model = build_agent_model(config, resources, objects, streaming=streaming)
        return Respondent(
            agent_name(config, objects),
            model,
            parameters_of(config, panel.seed),
            config.weight if weighted else 1.0,
            unused_settings(config, weighted=weighted),
            panel.prompt_version or self._prompt_set,
            panel.analysis_words,
        )

    async def _held_prompt_set(self, panel: Mapping[str, Any]) -> int:
        """The prompt set of the newest run of this command by one of these agents; the newest set without one.

        Runs of version 0.2 record none: what they asked was of the first set.
        """
        assert self._store is not None, "asked for with a store alone"
        asked = _asked(panel)
        for config in await self._store.run_configs(self.command):
            found = _asked(config.get("panel", {}))
            if asked & found or asked == found:
                version: int = config.get("prompt_version", FIRST)
                self._held = None if version == NEWEST else continues(version, "the store has runs by this panel")
                return version
        return NEWEST

    def _leave_batches(self) -> None:
        if self._batches is not None:
            self._batches.release("interrupted")

    @property
    def retry(self) -> RetryPolicy:
        """How often a call is tried; one in batches may go through several."""
        attempts = self.config.retry.attempts
        if self._batch is None:
            return RetryPolicy(attempts=attempts, total_s=self.config.retry.total_s)
        return RetryPolicy(attempts=min(attempts or _BATCHES_A_CALL, _BATCHES_A_CALL), total_s=_A_YEAR_S)

    async def _close(self) -> None:
        batches, self._batches = self._batches, None
        if batches is not None:
            await batches.aclose()
        try:
            await self._close_rest()
        except BaseException:
            if batches is not None:
                batches.folder.close()
            raise
        if batches is not None:  # the replies are stored by now
            batches.settle()

    async def _close_rest(self) -> None:
        if self._opened is not None:
            await self._opened.aclose()
        store, self._store = self._store, None
        if store is None:
            return
        try:
            if self._recorded and not self._finished:
                await store.finish_run(self.run_id, RunEnd.FINISHED.value, time.time(), {"calls": self.meter.sent})
        finally:
            if isinstance(self._store_given, str | Path | PostgresUrl):
                await store.close()


def note_unused(session: Session, task: str) -> None:
    """Notes what the session's panel sets and a task does not use."""
    if (unused := unused_sections(session.config, task)) is not None:
        session.note(unused)


def _asked(panel: Mapping[str, Any]) -> set[str]:
    """The models of a panel as it is recorded."""
    return {one["model"] for one in panel.get("agents", ())}


def _configured(agent: str | AgentConfig | Model) -> AgentConfig:
    if isinstance(agent, str | AgentConfig):
        return AgentConfig.model_validate(agent)
    return AgentConfig(name=agent.name, model=f"object:{agent.name}")


def _by_name(agents: Iterable[str | Model]) -> dict[str, Model]:
    found: dict[str, Model] = {}
    for agent in agents:
        if isinstance(agent, str):
            continue
        if agent.name in found:
            raise ConfigurationError("two model objects have the same name: give them different names")
        found[agent.name] = agent
    return found


def _with_objects(config: PanelConfig, objects: Mapping[str, Model]) -> PanelConfig:
    """The configuration with an agent for each model object that does not replace one of its own."""
    there = {agent_name(agent, objects) for agent in config.all_agents}
    added = tuple(AgentConfig(name=name, model=f"object:{name}") for name in objects if name not in there)
    return config.model_copy(update={"agents": (*config.agents, *added)}) if added else config
