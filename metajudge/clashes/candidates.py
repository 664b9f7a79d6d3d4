"""Candidates as full configurations: a model with its prompt, parameters, price and key, from a file or plain data."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError, model_validator

from metajudge.errors import ConfigurationError
from metajudge.panels.config import AgentConfig, PanelConfig, load_panel_file, panel_config
from metajudge.providers.model import Model
from metajudge.providers.prices import FlatPrice, Price, find_price
from metajudge.providers.spec import parse_agent_spec
from metajudge.readers.reasons import reason_of
from metajudge.types import ID_PATTERN

T = TypeVar("T", bound=AgentConfig)
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_.-]+")
_OF_JUDGES = ("role", "weight", "rubric", "weights", "analysis", "explanations", "score", "samples")
_TELLING_WORDS = 4
"""Words from which on a system prompt is hidden where an answer repeats it; a shorter one is an ordinary phrase."""


class CandidateConfig(AgentConfig):
    """A candidate as configured: an agent of a panel file, with a system prompt and without a judge's settings.

    Attributes:
        system: system prompt of the candidate. No judge is shown it.
    """

    system: str = ""

    @model_validator(mode="after")
    def _answers_only(self) -> "CandidateConfig":
        given = [name for name in _OF_JUDGES if name in self.model_fields_set]
        if given:
            raise ValueError(
                f"{', '.join(given)}: a candidate answers and does not judge, so this does not apply to it"
            )
        return self


GivenCandidate = str | Model | CandidateConfig | Mapping[str, object]
"""A candidate as text, as a model object, as configured, or the plain data of a configuration."""


@dataclass(frozen=True, slots=True)
class CandidateSpec:
    """A candidate's name, and the model behind it as far as it is known without asking.

    Attributes:
        price: None where it is unknown.
        config: None for a candidate given as text or as an object.
    """

    name: str
    endpoint: str
    model: str
    provider: str | None = None
    price: Price | None = None
    config: CandidateConfig | None = None

    @classmethod
    def of(cls, given: GivenCandidate | AgentConfig) -> "CandidateSpec":
        """Reads a candidate, or the model of the criteria.

        Raises:
            ConfigurationError: text or data that is no candidate.
        """
        if isinstance(given, Mapping):
            given = candidate_config(given, "candidate")
        if not isinstance(given, str | AgentConfig):
            return cls(candidate_name(given.name), str(given.endpoint), given.name)
        config = given if isinstance(given, CandidateConfig) else None
        spec = parse_agent_spec(given if isinstance(given, str) else given.spec())
        price = find_price(spec)
        if isinstance(given, AgentConfig) and given.price is not None:
            price = FlatPrice.of(given.price.input, given.price.output)
        return cls(candidate_name(spec.name), str(spec.endpoint), spec.model, spec.provider, price, config)

    @property
    def system(self) -> str:
        """The system prompt; empty where there is none."""
        return "" if self.config is None else self.config.system


def candidate_name(name: str) -> str:
    """A model's name as a response id: ``meta/llama-3:70b`` becomes ``meta-llama-3-70b``."""
    return name if re.fullmatch(ID_PATTERN, name) else _NOT_IN_IDS.sub("-", name).strip("-") or "candidate"


def askable(given: Iterable[GivenCandidate]) -> list[str | Model | AgentConfig]:
    """Candidates in the forms that a session takes."""
    return [candidate_config(one, "candidate") if isinstance(one, Mapping) else one for one in given]


def prompts_to_hide(candidates: Iterable[CandidateSpec]) -> set[str]:
    """System prompts that would tell judges which candidate repeats its own."""
    return {one.system.strip() for one in candidates if len(one.system.split()) >= _TELLING_WORDS}


def load_candidates(path: Path) -> tuple[CandidateConfig, ...]:
    """Reads ``[[candidates]]`` of a TOML file; a file with ``[[agents]]`` alone has its agents taken as candidates.

    Raises:
        ConfigurationError: no such file, no candidate in it, or data that is none; says where.
    """
    data = _toml(path)
    given = data.get("candidates", data.get("agents"))
    if not isinstance(given, list) or not given:
        raise ConfigurationError(
            f'{path} names no candidate: write [[candidates]] for each, with model = "PROVIDER:MODEL"'
        )
    return _candidates(given, str(path))


@dataclass(frozen=True, slots=True)
class ClashFile:
    """What a file says about a clash.

    Attributes:
        panel: the judges.
        candidates: who answers; none where the file has no ``[[candidates]]``.
        criteria: the model that names criteria; None where the file has no ``[criteria]``.
    """

    panel: PanelConfig = field(default_factory=PanelConfig)
    candidates: tuple[CandidateConfig, ...] = ()
    criteria: AgentConfig | None = None


def load_clash_file(path: Path) -> ClashFile:
    """A panel file that may have ``[[candidates]]`` and ``[criteria]`` besides.

    Raises:
        ConfigurationError: as for panel files, and for candidates.
    """
    if not path.is_file():
        return ClashFile(load_panel_file(path))
    data = _toml(path)
    given, criteria = data.pop("candidates", []), data.pop("criteria", None)
    if not given and criteria is None:
        return ClashFile(load_panel_file(path))
    if not isinstance(given, list):
        raise ConfigurationError(f"{path}: candidates: write [[candidates]] for each")
    namer = None if criteria is None else _config(AgentConfig, criteria, f"{path}: criteria")
    return ClashFile(panel_config(data, source=str(path)), _candidates(given, str(path)), namer)


def candidate_config(data: Mapping[str, Any] | object, where: str) -> CandidateConfig:
    """Checks plain data as a candidate.

    Raises:
        ConfigurationError: what is wrong with it; values are not repeated, since headers may hold secrets.
    """
    return _config(CandidateConfig, data, where)


def _config(kind: type[T], data: object, where: str) -> T:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise ConfigurationError(f"{where}: {reason_of(error)}") from None


def _candidates(given: Sequence[object], where: str) -> tuple[CandidateConfig, ...]:
    return tuple(candidate_config(one, f"{where}: candidate {number}") for number, one in enumerate(given, start=1))


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read as UTF-8 text: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: not valid TOML: {error}") from None
