"""Panel files: which agents, which strategy, which limits, in TOML; and the same from flags.

A panel file contains no secrets: it names the environment variable that contains a key.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
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


def prompt_set_of(given: Any) -> Any:
    """A version as it may be written: ``newest`` for the newest one, else a number."""
    return NEWEST if given == "newest" else given


class Price(Frozen):
    """US dollars a million tokens, for models the price list does not know."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cached_input: Annotated[float, Field(ge=0)] | None = None


class AgentConfig(Frozen):
    """One agent of a panel file; ``model`` is ``PROVIDER:MODEL[@BASE_URL]``.

    Attributes:
        analysis: whether a reply opens with unscored free text in which the model solves the task first. None: yes
            under prompt set 2, unless ``effort`` makes the model reason by itself.
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
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    extra_body: dict[str, Any] = Field(default_factory=dict, exclude_if=lambda given: not given)
    timeout_s: PositiveFloat = 120.0
    api_key_env: str | None = None
    price: Price | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_score(cls, given: Any, info: ValidationInfo) -> Any:
        if not isinstance(given, Mapping) or "score" not in given:
            return given
        if given["score"] != "reported" and info.context is not RECORDED:
            raise ValueError(_NO_EXPECTED_SCORES)
        return {name: value for name, value in given.items() if name != "score"}

    @model_validator(mode="before")
    @classmethod
    def _former_name(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or "explanations_first" not in given:
            return given
        first = given["explanations_first"]
        if not isinstance(first, bool):
            raise ValueError(f"explanations_first must be true or false, not {first!r}")
        if "explanations" in given:
            raise ValueError("explanations_first is the former name of explanations: give explanations alone")
        rest = {name: value for name, value in given.items() if name != "explanations_first"}
        return {**rest, "explanations": "before" if first else "after"}

    @field_validator("extra_body")
    @classmethod
    def _only_more(cls, given: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(
            given.keys() & {"model", "messages", "system", "stream", "response_format", "output_config"}
        ):
            raise ValueError(f"{', '.join(taken)} is set by metajudge: extra_body is for what it has no setting for")
        return given

    @field_validator("headers")
    @classmethod
    def _no_secrets(cls, headers: dict[str, str]) -> dict[str, str]:
        secret = sorted(name for name in headers if _SECRET.search(name))
        if secret:
            raise ValueError(
                f"{', '.join(secret)} would contain a secret, and panel files are recorded, so they must not: put the "
                "key into the provider's environment variable, or name another variable with api_key_env"
            )
        return headers

    def spec(self) -> str:
        """The agent as it would be given on the command line."""
        return self.model if self.name is None else f"{self.name}={self.model}"


class Discussion(Frozen):
    """How a panel discussion runs; ``show_analysis``: members see each other's analyses, too."""

    rounds: Rounds = "independent_first"
    aggregate: Literal["majority", "average"] = "majority"
    show_analysis: bool = False
    summariser: AgentConfig | None = None


def _without_cascade(given: Any, info: ValidationInfo) -> Any:
    if not isinstance(given, Mapping):
        return given
    gone = given.get("strategy") == "cascade"
    if (gone or given.get("cascade") is not None) and info.context is not RECORDED:
        raise ValueError(_NO_CASCADE)
    rest = {name: value for name, value in given.items() if name != "cascade"}
    return {**rest, "strategy": None} if gone else rest


Cut = Annotated[float | None, Field(ge=0, le=1, exclude_if=lambda given: given is None)]


def _one_rule(given: Any) -> Any:
    if given.cut is not None and given.threshold is not None:
        raise ValueError(
            f"cut {given.cut:g} and threshold {given.threshold:g} are two rules for one decision: cut is the "
            "calibrated probability's, threshold the score's; give one of them"
        )
    return given


class Route(Frozen):
    """What differs for items of one category; agents are named, not defined anew."""

    strategy: Strategy | None = None
    threshold: float | None = None
    cut: Cut = None
    rubric: str | None = None
    weights: Weights | None = None
    agents: tuple[str, ...] | None = None
    agent_weights: dict[str, PositiveFloat] | None = None
    quorum: PositiveInt | None = None

    _check = model_validator(mode="before")(_without_cascade)
    _rule = model_validator(mode="after")(_one_rule)


class EndpointLimits(Frozen):
    """Limits shared by all agents that ask one endpoint (a provider's name or a base URL)."""

    concurrency: PositiveInt | None = None
    requests_per_minute: PositiveFloat | None = None
    tokens_per_minute: PositiveFloat | None = None


class Retry(Frozen):
    """Bounds of trying a failed call again: seconds from the first request to the last, and a number of them."""

    attempts: PositiveInt | None = None
    total_s: PositiveFloat = 120.0


class PanelConfig(Frozen):
    """A panel as configured, before any model is built.

    ``strategy`` None chooses: signals without agents, single for one, weighted_average for several. Several vote
    (majority_vote) where one of them has a binary rubric, and under prompt set 1, so that its results are found.
    ``threshold`` None takes the strategy's own (:func:`metajudge.strategies.panel.default_threshold`). ``cut`` is the
    probability from which on a calibration keeps, in [0, 1]; None takes the stored promise's, else .9.
    ``early_exit`` None leaves it to the use: on for files, off for the service.
    ``analysis_words`` is how long the text may be that a reply opens with.
    ``prompt_version`` is the version of the prompt set, ``newest`` for the newest. A panel that names none takes the
    newest one, except where the store, or the file that is continued, has results by this panel under an older one.
    """

    agents: tuple[AgentConfig, ...] = ()
    strategy: Strategy | None = None
    threshold: float | None = None
    cut: Cut = None
    rubric: str = "short"
    prompt_version: Annotated[PositiveInt | None, BeforeValidator(prompt_set_of)] = None
    analysis_words: Annotated[int, Field(ge=20, le=10_000, exclude_if=lambda given: given == MAX_ANALYSIS_WORDS)] = (
        MAX_ANALYSIS_WORDS
    )
    weights: Weights | None = None
    quorum: PositiveInt | None = None
    early_exit: bool | None = None
    average_votes: bool = False
    families: FamilyPolicy = "warn"
    seed: int | None = None
    discussion: Discussion = Discussion()
    routes: dict[str, Route] = Field(default_factory=dict)
    limits: dict[str, EndpointLimits] = Field(default_factory=dict)
    retry: Retry = Retry()

    _check = model_validator(mode="before")(_without_cascade)
    _rule = model_validator(mode="after")(_one_rule)

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
        if self.strategy is not None:
            return self.strategy
        names = {agent.rubric or self.rubric for agent in self.agents}
        votes = self.votes_by_default or (len(self.agents) > 1 and any(map(_is_binary, names)))
        return self.strategy_for(len(self.agents), votes=votes)

    @property
    def votes_by_default(self) -> bool:
        """Whether several agents without a strategy vote: under the first prompt set, so that its results are found."""
        return self.prompt_version == FIRST

    @property
    def all_agents(self) -> tuple[AgentConfig, ...]:
        """The agents and the summariser."""
        summariser = self.discussion.summariser
        if summariser is None:
            return self.agents
        return (*self.agents, summariser if summariser.name else summariser.model_copy(update={"name": "summariser"}))

    @staticmethod
    def strategy_for(agents: int, *, votes: bool = False) -> Strategy:
        """The default strategy for a number of agents.

        Args:
            votes: whether several of them vote, for one by binary rubrics, whose scores are votes and have no average.
        """
        if agents == 0:
            return "signals"
        if agents == 1:
            return "single"
        return "majority_vote" if votes else "weighted_average"


def _is_binary(rubric: str) -> bool:
    try:
        return load_rubric(rubric).kind == "binary"
    except RubricError:  # reported where the panel is built
        return False


_OF_VETTING = ("role", "rubric", "weights", "analysis", "explanations", "samples")
"""Settings of an agent that other tasks than vetting do not use."""


def unused_settings(agent: AgentConfig, *, weighted: bool = False) -> tuple[str, ...]:
    """Names of the settings of an agent that a task other than vetting drops."""
    names = _OF_VETTING if weighted else (*_OF_VETTING, "weight")
    return tuple(name for name in names if getattr(agent, name) != AgentConfig.model_fields[name].default)


def load_panel_file(path: Path) -> PanelConfig:
    """Reads a panel file; rubric files in it are relative to it.

    Raises:
        ConfigurationError: with the file, the place in it, what was found and what is accepted.
    """
    config = panel_config(read_toml(path, "panel file"), source=str(path))
    return _with_rubric_paths(config, path.parent)


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
    """A panel with command-line flags applied: given agents replace the file's, other flags win where set."""
    given = {name: value for name, value in flags.items() if value is not None}
    if agents:
        given["agents"] = tuple(_agent_from_flag(text) for text in agents)
    return panel_config({**config.model_dump(), **given}, source="command line") if given else config


def _agent_from_flag(text: str) -> dict[str, Any]:
    head, sign, rest = text.partition("=")
    named = bool(sign) and ":" not in head
    return {"name": head, "model": rest} if named else {"model": text}


def _with_rubric_paths(config: PanelConfig, folder: Path) -> PanelConfig:
    def resolved(name: str | None) -> str | None:
        return str(folder / name) if name is not None and name.endswith((".yaml", ".yml")) else name

    def agent(one: AgentConfig) -> AgentConfig:
        return one.model_copy(update={"rubric": resolved(one.rubric)})

    summariser = config.discussion.summariser
    discussion = config.discussion
    if summariser is not None:
        discussion = discussion.model_copy(update={"summariser": agent(summariser)})
    routes = {
        name: route.model_copy(update={"rubric": resolved(route.rubric)}) for name, route in config.routes.items()
    }
    agents = tuple(agent(one) for one in config.agents)
    return config.model_copy(
        update={"rubric": resolved(config.rubric), "agents": agents, "discussion": discussion, "routes": routes}
    )


def _lines(error: ValidationError) -> list[str]:
    lines = []
    for found in error.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in found["loc"]) or "the file"
        message = found["msg"].removeprefix("Value error, ")
        if found["type"] == "extra_forbidden":
            message = "no such setting"
        value = repr(found.get("input"))
        private = found["type"] == "extra_forbidden" or "headers" in found["loc"]  # may be a secret
        shown = f" (found {value})" if len(value) <= 60 and not private else ""
        lines.append(f"{where}: {message}{shown}")
    return lines
