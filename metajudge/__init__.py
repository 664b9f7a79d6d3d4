"""Vet the verdicts of LLM judges: score the judgments themselves and say which to trust."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metajudge.decision import Decision, Policy, load_policy
    from metajudge.engine import Engine, vet
    from metajudge.errors import MetajudgeError
    from metajudge.rubric import Rubric, load_rubric
    from metajudge.types import Assessment, Item, Judgment

__version__ = "0.1.0"

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
    "load_policy",
    "load_rubric",
    "vet",
]

_HOMES = {
    "Assessment": "metajudge.types",
    "Decision": "metajudge.decision",
    "Engine": "metajudge.engine",
    "Item": "metajudge.types",
    "Judgment": "metajudge.types",
    "MetajudgeError": "metajudge.errors",
    "Policy": "metajudge.decision",
    "Rubric": "metajudge.rubric",
    "load_policy": "metajudge.decision",
    "load_rubric": "metajudge.rubric",
    "vet": "metajudge.engine",
}


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used, so that ``import metajudge`` costs nothing."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'metajudge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
