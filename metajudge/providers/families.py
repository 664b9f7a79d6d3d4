"""Model families: which models descend from one maker's line, and favour each other's work.

Judges prefer answers of their own family ("Self-Preference Bias in LLM-as-a-Judge"; "LLM Evaluators Recognize
and Favor Their Own Generations"), and models of one family repeat each other's mistakes. A family is read off a
model's id alone:

1. Case, the names of routers and hosts (``openrouter/``, ``together/``...) and what follows ``@`` are dropped.
2. The earliest name of :data:`FAMILIES` that occurs in the id as a word decides: ``openrouter/openai/o3-mini`` is
   ``openai``, ``Llama-3.1-8B-Instruct`` is ``meta``. A distilled or tuned model belongs to the name it is published
   under (``deepseek-r1-distill-llama-70b`` is ``deepseek``).
3. Any other model is its own family: the id without tags, dates, sizes, versions and words such as ``instruct``, so
   that ``osprey-70b`` and ``osprey-8b-instruct-2024-08-06`` are both ``osprey``. Of an id with several parts the first
   one counts (an organisation, or a model whose prompt is named after it).

What is not recognised is not warned of: an unknown model's maker cannot be read off its name.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from metajudge.files.packaged import packaged

FamilyPolicy = Literal["warn", "forbid", "ignore"]
"""What to do where an agent is of the judge's or a candidate's family: ask, and say so once an agent, family and role;
leave the judgment unasked, as failed with the reason, while the rest of the run continues; or ask without a notice."""

Role = Literal["judge", "candidate"]

FAMILIES: Mapping[str, str] = packaged("providers", "families")["families"]
"""Family -> the names its models are known by, of ``families.toml``."""

_KNOWN = {
    family: re.compile(rf"(?<![a-z0-9])(?:{names})(?:v?\d[\d.]*[a-z]?)?(?![a-z0-9])")
    for family, names in FAMILIES.items()
}
_HOSTS = frozenset(
    {"openrouter", "together", "together_ai", "togethercomputer", "groq", "fireworks", "fireworks_ai", "azure"}
    | {"bedrock", "vertex", "vertex_ai", "huggingface", "hf", "deepinfra", "replicate", "ollama", "vllm", "lmstudio"}
    | {"perplexity", "accounts", "models", "publishers"}
)
_DATE = re.compile(r"[-_.@](?:20\d\d-?[01]\d-?[0-3]\d|20\d\d-[01]\d|\d{4}|\d{6})(?![\d.])")
_PART = re.compile(r"[-_.\s]+")
_INCIDENTAL = re.compile(
    r"v?\d+(?:x\d+)?[bmk]?|\d+[bmk]?a\d+[bmk]?|instruct|chat|latest|preview|exp|experimental|base|it|hf|free|turbo|beta|"
    r"gguf|awq|gptq|fp\d+|int\d+|q\d\w*"
)


@dataclass(frozen=True, slots=True)
class Kinship:
    """One agent whose model is of the family of the judge, or of a candidate."""

    agent: str
    family: str
    role: Role

    def __str__(self) -> str:
        kin = "the judge" if self.role == "judge" else "a model whose answer was judged"
        return f"{self.agent} is of the {self.family} family, and so is {kin}"


def kinships(agents: Iterable[tuple[str, str]], judge: str, candidates: Iterable[str] = ()) -> list[Kinship]:
    """Who of a panel is related to those it is to judge.

    Args:
        agents: (name, model id) of each member.
        judge: the judge's name in the record; its family is read off it as off a model's id.
        candidates: ids of the models that wrote the responses, where they are known.

    Returns:
        At most one entry for each agent and role, in order.
    """
    related: dict[Role, set[str]] = {
        "judge": {family_of(judge)},
        "candidate": {family_of(model) for model in candidates},
    }
    return [
        Kinship(name, family_of(model), role)
        for name, model in agents
        for role, families in related.items()
        if family_of(model) in families
    ]


@lru_cache(maxsize=4096)
def family_of(model: str) -> str:
    """The family of a model, by its id.

    Example:
        >>> family_of("openrouter/openai/gpt-4o-2024-08-06"), family_of("osprey-70b-instruct")
        ('openai', 'osprey')
    """
    name = model.strip().lower().partition("@")[0]
    parts = [part for part in name.split("/") if part not in _HOSTS]
    whole = "/".join(parts) or name
    places = {family: found.start() for family, pattern in _KNOWN.items() if (found := pattern.search(whole))}
    if places:
        return min(places, key=lambda family: places[family])
    return _stem(whole.split("/")[0]) or whole or model


def _stem(name: str) -> str:
    """A name without tag, date, size and version; the whole name where nothing else would be left."""
    bare = _DATE.sub("", name.partition(":")[0])
    words = [word for word in _PART.split(bare) if word and not _INCIDENTAL.fullmatch(word)]
    return "-".join(words) or bare
