"""Vet the verdicts of LLM judges: score the judgments themselves and say which to trust."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metajudge.blocking import vet
    from metajudge.decision import Decision, Policy, load_policy
    from metajudge.errors import MetajudgeError
    from metajudge.installation import __version__
    from metajudge.readers import open_judgments
    from metajudge.readers.frames import from_dataset, from_pandas, to_dataset, to_pandas
    from metajudge.rubric import Rubric, load_rubric
    from metajudge.types import Assessment, Item, Judgment
    from metajudge.vetting.engine import Engine

__all__ = [
    "Assessment",
    "Decision",
    "Engine",
    "Item",
    "Judgment",
    "MetajudgeError",
    "Policy",
    "Rubric",
    "__version__",
    "from_dataset",
    "from_pandas",
    "load_policy",
    "load_rubric",
    "open_judgments",
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
    "__version__": "metajudge.installation",
    "from_dataset": "metajudge.readers.frames",
    "from_pandas": "metajudge.readers.frames",
    "load_policy": "metajudge.decision",
    "load_rubric": "metajudge.rubric",
    "open_judgments": "metajudge.readers",
    "to_dataset": "metajudge.readers.frames",
    "to_pandas": "metajudge.readers.frames",
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
