"""The parts of mlflow 3 that our scorer uses, by their names and arguments; ``run_mlflow_scorer`` uses the real ones."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest


@dataclass
class AssessmentSource:
    source_type: str
    source_id: str = "default"


@dataclass
class AssessmentError:
    error_code: str
    error_message: str | None = None


@dataclass
class Feedback:
    name: str = "feedback"
    value: Any = None
    error: Any = None
    source: Any = None
    metadata: dict[str, str] | None = None
    rationale: str | None = None


class Scorer:
    """Made by :func:`scorer`."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.name = name
        self._function = function

    def run(self, **given: Any) -> Any:
        asked = inspect.signature(self._function).parameters
        return self._function(**{key: value for key, value in given.items() if key in asked})


def scorer(function: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    def made(given: Callable[..., Any]) -> Scorer:
        return Scorer(given, name or given.__name__)

    return made if function is None else made(function)


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts the modules in place for one test."""
    names = ("mlflow", "mlflow.entities", "mlflow.genai", "mlflow.genai.scorers")
    modules = {name: ModuleType(name) for name in names}
    entities: Any = modules["mlflow.entities"]
    entities.AssessmentSource, entities.AssessmentError, entities.Feedback = AssessmentSource, AssessmentError, Feedback
    scorers: Any = modules["mlflow.genai.scorers"]
    scorers.Scorer, scorers.scorer = Scorer, scorer
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
