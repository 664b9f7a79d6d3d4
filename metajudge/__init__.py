"""Vet the verdicts of LLM judges: score the judgments themselves and say which to trust."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metajudge.blocking import clash, count, grade, judge, judge_case, run_peers, vet
    from metajudge.decision import Decision, Policy, load_policy
    from metajudge.errors import MetajudgeError
    from metajudge.installation import __version__
    from metajudge.providers.scripted import ScriptedModel
    from metajudge.reading import open_judgments
    from metajudge.reading.frames import from_arrow, from_dataset, from_pandas
    from metajudge.rubric import Rubric, load_rubric
    from metajudge.runs.frames import to_arrow, to_dataset, to_pandas
    from metajudge.session import Session
    from metajudge.types import Assessment, Item, Judgment
    from metajudge.vetting.engine import Engine
    from metajudge.voting.rank import rank

__all__ = [
    "Assessment",
    "Decision",
    "Engine",
    "Item",
    "Judgment",
    "MetajudgeError",
    "Policy",
    "Rubric",
    "ScriptedModel",
    "Session",
    "__version__",
    "clash",
    "count",
    "from_arrow",
    "from_dataset",
    "from_pandas",
    "grade",
    "judge",
    "judge_case",
    "load_policy",
    "load_rubric",
    "open_judgments",
    "rank",
    "run_peers",
    "to_arrow",
    "to_dataset",
    "to_pandas",
    "vet",
]

_HOMES = {
    "Assessment": "metajudge.types",
    "Decision": "metajudge.decision",
    "Engine": "metajudge.vetting.engine",
    "Item": "metajudge.types",
    "Judgment": "metajudge.types",
    "MetajudgeError": "metajudge.errors",
    "Policy": "metajudge.decision",
    "Rubric": "metajudge.rubric",
    "ScriptedModel": "metajudge.providers.scripted",
    "Session": "metajudge.session",
    "__version__": "metajudge.installation",
    "clash": "metajudge.blocking",
    "count": "metajudge.blocking",
    "from_arrow": "metajudge.reading.frames",
    "from_dataset": "metajudge.reading.frames",
    "from_pandas": "metajudge.reading.frames",
    "grade": "metajudge.blocking",
    "judge": "metajudge.blocking",
    "judge_case": "metajudge.blocking",
    "load_policy": "metajudge.decision",
    "load_rubric": "metajudge.rubric",
    "open_judgments": "metajudge.reading",
    "rank": "metajudge.voting.rank",
    "run_peers": "metajudge.blocking",
    "to_arrow": "metajudge.runs.frames",
    "to_dataset": "metajudge.runs.frames",
    "to_pandas": "metajudge.runs.frames",
    "vet": "metajudge.blocking",
}


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used, so that ``import metajudge`` costs nothing."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'metajudge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
