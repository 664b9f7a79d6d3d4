"""Panel files: which models, which strategy, which limits, in TOML, for every task; and the same from flags.

A panel file contains no secrets: it names the environment variable that contains a key.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from metajudge.errors import ConfigurationError, RubricError
from metajudge.prompts.reply_form import MAX_ANALYSIS_WORDS
from metajudge.prompts.versions import FIRST, NEWEST
from metajudge.providers.families import FamilyPolicy
from metajudge.providers.model import Effort
from metajudge.rubric import load_rubric
from metajudge.types.frozen import Frozen

Weights = str | dict[str, float]
Rounds = Literal["independent_first", "sequential"]
Explanations = Literal["before", "after", "none"]
Strategy = Literal["single", "weighted_average", "majority_vote", "panel_discussion", "rejudge", "signals"]

_SECRET = re.compile(r"(authorization|api[-_]?key|cookie)$", re.IGNORECASE)
"""Names of headers that carry a secret, such as Authorization, Proxy-Authorization, x-api-key, api-key, Cookie."""

RECORDED: Final = "recorded"
"""Context of validating a panel that a run of an earlier version recorded: what is gone since is left out."""

_NO_CASCADE = (
    "strategy cascade and [cascade] were removed: use weighted_average or majority_vote, which with early_exit ask no "
    "further agent once the decision is certain"
)
_NO_EXPECTED_SCORES = 'score = "expected" was removed: use samples = 5, the mean of several draws'
_OURS = {"model", "messages", "system", "stream", "response_format", "output_config"}
"""What every request has anyway, so that ``extra_body`` may not."""


def _if_set(default: object = None) -> Any:
    """A setting of a later version: what is recorded has it only where it is set."""
    return Field(default=default, exclude_if=lambda given: not given)


def prompt_set_of(given: Any) -> Any:
    """A version as it may be written: ``newest`` for the newest one, else a number."""
    return NEWEST if given == "newest" else given


class Price(Frozen):
    """US dollars a million tokens, for models the price list does not know."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cached_input: Annotated[float, Field(ge=0)] | None = None


class AgentConfig(Frozen):
    """A model to ask; ``model`` is ``PROVIDER:MODEL[@BASE_URL]``. A text, ``[NAME=]PROVIDER:MODEL[@BASE_URL]``, is one.

    Attributes:
        analysis: whether a reply opens with unscored free text in which the model solves the task first. None: yes
            under prompt set 2, unless ``effort`` or ``thinking_budget`` makes the model reason by itself.
        max_tokens: of a reply, thoughts included.
        thinking_budget: tokens that the model may think for, where the provider has such a setting.
        extra_body: sent with every request besides, as the provider documents it.
        explanations: where an explanation stands relative to its score, or ``none`` for scores alone. Panel files may
            still say ``explanations_first = true`` for ``before`` and ``false`` for ``after``.
    """

    model: str
    name: str | None = None
    role: str | None = None
    weight: PositiveFloat = 1.0
    rubric: str | None = None
    weights: Weights | None = None
    analysis: bool | None = None
    explanations: Explanations = "before"
    samples: Annotated[int, Field(ge=1, le=100)] = 1
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: PositiveInt | None = None
    seed: int | None = None
    effort: Effort | None = None
    thinking_budget: PositiveInt | None = _if_set()
    headers: dict[str, str] = Field(default_factory=dict)
    extra_body: dict[str, Any] = _if_set({})
    timeout_s: PositiveFloat = 120.0
    api_key_env: str | None = None
    price: Price | None = None

    @model_validator(mode="before")
    @classmethod
    def _written(cls, given: Any, info: ValidationInfo) -> Any:
        """An agent given as text, and what earlier versions wrote."""
        if isinstance(given, str):
            head, sign, rest = given.partition("=")
            return {"name": head, "model": rest} if sign and ":" not in head else {"model": given}
        if not isinstance(given, Mapping):
            return given
        found = dict(given)
        if found.pop("score", "reported") != "reported" and info.context is not RECORDED:
            raise ValueError(_NO_EXPECTED_SCORES)
        first = found.pop("explanations_first", None)
        if "explanations_first" in given:
            if not isinstance(first, bool):
                raise ValueError(f"explanations_first must be true or false, not {first!r}")
            if "explanations" in given:
                raise ValueError("explanations_first is the former name of explanations: give explanations alone")
            found["explanations"] = "before" if first else "after"
        return found

    @field_validator("extra_body")
    @classmethod
    def _only_more(cls, given: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(given.keys() & _OURS):
            raise ValueError(f"{', '.join(taken)} is set by metajudge: extra_body is for what it has no setting for")
        return given

    @field_validator("headers")
    @classmethod
    def _no_secrets(cls, headers: dict[str, str]) -> dict[str, str]:
        if secret := sorted(name for name in headers if _SECRET.search(name)):
            raise ValueError(
                f"{', '.join(secret)} would contain a secret, and panel files are recorded, so they must not: put the "
                "key into the provider's environment variable, or name another variable with api_key_env"
            )
        return headers

    @model_validator(mode="after")
    def _room_to_answer(self) -> Self:
        if self.max_tokens and self.thinking_budget and self.max_tokens <= self.thinking_budget:
            raise ValueError(
                f"max_tokens {self.max_tokens} leaves no room for an answer beside a thinking_budget of "
                f"{self.thinking_budget}: thoughts count, too; raise max_tokens, or leave it out"
            )
        return self

    def spec(self) -> str:
        """The agent as it would be given on the command line."""
        return self.model if self.name is None else f"{self.name}={self.model}"


class CandidateConfig(AgentConfig):
    """A model that answers questions in a clash: an agent with a system prompt and without a judge's settings.

    Attributes:
        system: system prompt of the candidate. No judge is shown it.
    """

    system: str = ""

    @model_validator(mode="after")
    def _answers_only(self) -> Self:
        if given := unused_settings(self):
            raise ValueError(
                f"{', '.join(given)}: a candidate answers and does not judge, so this does not apply to it"
            )
        return self


class Discussion(Frozen):
    """How a panel discussion runs; ``show_analysis``: members see each other's analyses, too."""

    rounds: Rounds = "independent_first"
    aggregate: Literal["majority", "average"] = "majority"
    show_analysis: bool = False
    summariser: AgentConfig | None = None


class _Deciding(Frozen):
    """How scores become a decision, for a panel and for a category."""

    strategy: Strategy | None = None
    threshold: float | None = None
    cut: Annotated[float | None, Field(ge=0, le=1, exclude_if=lambda given: given is None)] = None
    weights: Weights | None = None
    quorum: PositiveInt | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_cascade(cls, given: Any, info: ValidationInfo) -> Any:
        if not isinstance(given, Mapping):
            return given
        gone = given.get("strategy") == "cascade"
        if (gone or given.get("cascade") is not None) and info.context is not RECORDED:
            raise ValueError(_NO_CASCADE)
        rest = {name: value for name, value in given.items() if name != "cascade"}
        return {**rest, "strategy": None} if gone else rest

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if self.cut is not None and self.threshold is not None:
            raise ValueError(
                f"cut {self.cut:g} and threshold {self.threshold:g} are two rules for one decision: cut is the "
                "calibrated probability's, threshold the score's; give one of them"
            )
        return self


class Route(_Deciding):
    """What differs for items of one category; agents are named, not defined anew."""

    rubric: str | None = None
    agents: tuple[str, ...] | None = None
    agent_weights: dict[str, PositiveFloat] | None = None


class EndpointLimits(Frozen):
    """Limits shared by all agents that ask one endpoint (a provider's name or a base URL)."""

    concurrency: PositiveInt | None = None
    requests_per_minute: PositiveFloat | None = None
    tokens_per_minute: PositiveFloat | None = None


class Retry(Frozen):
    """Bounds of trying a failed call again: seconds from the first request to the last, and a number of them."""

    attempts: PositiveInt | None = None
    total_s: PositiveFloat = 120.0


class PanelConfig(_Deciding):
    """What a panel file says, before any model is built.

    ``strategy`` None chooses: signals without agents, single for one, weighted_average for several. Several vote
    (majority_vote) where one of them has a binary rubric, and under prompt set 1, so that its results are found.
    ``threshold`` None takes the strategy's own (:func:`metajudge.strategies.panel.default_threshold`). ``cut`` is the
    probability from which on a calibration keeps, in [0, 1]; None takes the stored promise's, else .9.
    ``early_exit`` None leaves it to the use: on for files, off for the service.
    ``analysis_words`` is how long the text may be that a reply opens with.
    ``prompt_version`` is the version of the prompt set, ``newest`` for the newest. A panel that names none takes the
    newest one, except where the store, or the file that is continued, has results by this panel under an older one.
    ``requests_per_minute`` holds for every endpoint without its own in ``limits``. In a clash ``candidates`` answer,
    and ``criteria`` is the model that names criteria for each question.
    """

    agents: tuple[AgentConfig, ...] = ()
    rubric: str = "short"
    prompt_version: Annotated[PositiveInt | None, BeforeValidator(prompt_set_of)] = None
    analysis_words: Annotated[int, Field(ge=20, le=10_000, exclude_if=lambda given: given == MAX_ANALYSIS_WORDS)] = (
        MAX_ANALYSIS_WORDS
    )
    early_exit: bool | None = None
    average_votes: bool = False
    families: FamilyPolicy = "warn"
    seed: int | None = None
    discussion: Discussion = Discussion()
    routes: dict[str, Route] = Field(default_factory=dict)
    limits: dict[str, EndpointLimits] = Field(default_factory=dict)
    requests_per_minute: PositiveFloat | None = _if_set()
    retry: Retry = Retry()
    candidates: tuple[CandidateConfig, ...] = _if_set(())
    criteria: AgentConfig | None = _if_set()

    @property
    def cuts(self) -> list[float]:
        """The cuts in P that are set, for all items or for a category."""
        return [one for one in (self.cut, *(route.cut for route in self.routes.values())) if one is not None]

    @property
    def prompt_set(self) -> int:
        """The version of the prompt set: the one named, else the newest."""
        return self.prompt_version or NEWEST

    @property
    def chosen_strategy(self) -> Strategy:
        """The strategy in force for the default panel."""
        return self.strategy or self.default_strategy(self.agents, self.rubric)

    def default_strategy(self, agents: Sequence[AgentConfig], rubric: str) -> Strategy:
        """The strategy of agents for which none is set; ``rubric`` is of those without their own."""
        if len(agents) < 2:
            return "single" if agents else "signals"
        votes = self.prompt_version == FIRST or any(_is_binary(agent.rubric or rubric) for agent in agents)
        return "majority_vote" if votes else "weighted_average"

    @property
    def all_agents(self) -> tuple[AgentConfig, ...]:
        """The agents and the summariser."""
        summariser = self.discussion.summariser
        if summariser is None:
            return self.agents
        return (*self.agents, summariser if summariser.name else summariser.model_copy(update={"name": "summariser"}))

    @property
    def models(self) -> tuple[AgentConfig, ...]:
        """Every model of the file: agents, summariser, candidates and the one that names criteria."""
        return (*self.all_agents, *self.candidates, *filter(None, [self.criteria]))


def _is_binary(rubric: str) -> bool:
    try:
        return load_rubric(rubric).kind == "binary"
    except RubricError:  # reported where the panel is built
        return False


_OF_JUDGES = ("role", "rubric", "weights", "analysis", "explanations", "samples")
_OF_VETTING = ("strategy", "threshold", "cut", "rubric", "weights", "quorum", "early_exit", "average_votes", "families")
_OF_CLASHES = ("candidates", "criteria")
_UNUSED = {"vet": _OF_CLASHES, "check": _OF_CLASHES, "clash": (*_OF_VETTING, "discussion", "routes")}
"""Task -> what of a panel file it does not use."""


def unused_settings(agent: AgentConfig, *, weighted: bool = False) -> tuple[str, ...]:
    """Names of the settings of an agent that a task other than vetting drops."""
    return _set_of(agent, _OF_JUDGES if weighted else (*_OF_JUDGES, "weight"))


def unused_sections(panel: PanelConfig, task: str) -> str | None:
    """The notice that names what a panel sets and a task does not use; None where it uses all."""
    names = _set_of(panel, _UNUSED.get(task, (*_UNUSED["clash"], *_OF_CLASHES)))
    return f"the panel sets {', '.join(names)}, which {task} does not use" if names else None


def _set_of(given: BaseModel, names: Sequence[str]) -> tuple[str, ...]:
    fields = type(given).model_fields
    return tuple(one for one in names if getattr(given, one) != fields[one].get_default(call_default_factory=True))


def load_panel_file(path: Path) -> PanelConfig:
    """Reads a panel file; rubric files in it are relative to it.

    Raises:
        ConfigurationError: with the file, the place in it, what was found and what is accepted.
    """
    return panel_config(_beside(read_toml(path, "panel file"), path.parent), source=str(path))


def read_toml(path: Path, what: str = "file") -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        ConfigurationError: it does not exist, is no UTF-8 text, or no TOML.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(f"{path}: no such {what}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read as UTF-8 text: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: not valid TOML: {error}") from None


def panel_config(data: Mapping[str, Any], source: str = "panel") -> PanelConfig:
    """Checks plain data (of a TOML file, of a request) as a panel."""
    try:
        return PanelConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigurationError("\n".join(f"{source}: {line}" for line in _lines(error))) from None


def with_flags(config: PanelConfig, agents: Sequence[str] = (), **flags: Any) -> PanelConfig:
    """A panel with command-line flags applied: given agents replace the file's, other flags win where set.

    ``max_tokens``, ``effort`` and ``thinking_budget`` are settings of every agent, ``requests_per_minute`` of every
    endpoint; other flags have the panel's own names.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    if agents:
        given["agents"] = [AgentConfig.model_validate(text).model_dump() for text in agents]
    if not given:
        return config
    data = config.model_dump() | given
    of_agents = {name: data.pop(name) for name in ("max_tokens", "effort", "thinking_budget") if name in given}
    for one in filter(None, [*data["agents"], data["discussion"]["summariser"]]):
        one.update(of_agents)
    for one in data["limits"].values() if "requests_per_minute" in given else ():
        one["requests_per_minute"] = None  # the flag is for every endpoint
    return panel_config(data, source="command line")


def _beside(data: Any, folder: Path) -> Any:
    """The data of a panel file with the names of rubric files, which are relative to it, as paths."""
    if isinstance(data, list):
        return [_beside(one, folder) for one in data]
    if not isinstance(data, dict):
        return data
    found = {name: _beside(value, folder) for name, value in data.items() if name != "extra_body"}
    rubric = data.get("rubric")
    if isinstance(rubric, str) and rubric.endswith((".yaml", ".yml")):
        found["rubric"] = str(folder / rubric)
    return data | found


_SECTIONS = (CandidateConfig, Price, Discussion, Route, EndpointLimits, Retry)
_IN_SECTIONS = {name for section in _SECTIONS for name in section.model_fields}


def _lines(error: ValidationError) -> list[str]:
    lines = []
    for found in error.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in found["loc"]) or "the file"
        message = found["msg"].removeprefix("Value error, ")
        if found["type"] == "extra_forbidden":
            known = PanelConfig.model_fields if len(found["loc"]) == 1 else _IN_SECTIONS
            close = get_close_matches(str(found["loc"][-1]), known, n=1)
            message = f"no such setting; did you mean {close[0]}?" if close else "no such setting"
        value = repr(found.get("input"))
        private = found["type"] == "extra_forbidden" or "headers" in found["loc"]  # may be a secret
        shown = f" (found {value})" if len(value) <= 60 and not private else ""
        lines.append(f"{where}: {message}{shown}")
    return lines
