"""The DeepEval metric, over a double of what it uses of DeepEval; and within the real package where it is installed."""

import asyncio
import importlib
import importlib.util
import inspect
import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from metajudge.errors import ConfigurationError
from tests.doubles.llm_server import LLMServer, score_answer


class BaseMetric:
    """What DeepEval's metrics begin with."""

    threshold: float | None = None
    score: float | None = None
    reason: str | None = None
    success: bool | None = None
    strict_mode = False
    async_mode = True
    error: str | None = None
    evaluation_model: str | None = None
    evaluation_cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    verbose_logs: str | None = None


class Graded(BaseMetric):
    """A metric that a model grades."""

    __name__ = "Correctness [GEval]"

    def __init__(self, score: float | None = 0.9, threshold: float | None = 0.5, error: str | None = None) -> None:
        self.score, self.threshold, self.error = score, threshold, error
        self.evaluation_model, self.criteria = "gpt-4o", "The answer is right."

    def measure(self, test_case: Any, **_: Any) -> float | None:
        self.reason, self.evaluation_cost = "It adds up.", 0.25
        return self.score

    async def a_measure(self, test_case: Any, **_: Any) -> float | None:
        return self.measure(test_case)


def copies(metrics: list[Any]) -> list[Any]:
    """Copies as DeepEval makes them: by the attributes that the arguments are named after."""
    named = [inspect.signature(type(one).__init__).parameters for one in metrics]
    return [
        type(one)(**{name: vars(one)[name] for name in names if name in vars(one)})
        for one, names in zip(metrics, named, strict=True)
    ]


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    modules = {name: ModuleType(name) for name in ("deepeval", "deepeval.metrics", "deepeval.metrics.utils")}
    vars(modules["deepeval.metrics"])["BaseMetric"] = BaseMetric
    vars(modules["deepeval.metrics.utils"])["copy_metrics"] = copies
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "metajudge.adapters.deepeval", raising=False)
    yield importlib.import_module("metajudge.adapters.deepeval")
    sys.modules.pop("metajudge.adapters.deepeval", None)


CASE = SimpleNamespace(
    name="sum", input="2 + 2?", actual_output="4", expected_output="4", retrieval_context=["2 + 2 = 4"]
)


def agents(server: LLMServer) -> list[str]:
    return [f"openai:gpt-4o-mini@{server.url}"]


def test_a_score_that_is_kept_counts(adapter: Any) -> None:
    with LLMServer() as server:
        metric = adapter.Vetted(Graded(), agents=agents(server))
        assert metric.measure(CASE) == 0.9
        asked = json.dumps(server.bodies[-1])
    assert (metric.score, metric.error, metric.success, metric.__name__) == (
        0.9,
        None,
        True,
        "Correctness [GEval] [vetted]",
    )
    assert metric.reason.startswith("It adds up.\n\nmetajudge keeps the judgment")
    assert metric.evaluation_cost > 0.25
    assert metric.metajudge["accepted"] is True
    for told in ("The answer is right.", "2 + 2 = 4", "It adds up."):
        assert told in asked


def test_a_score_that_is_kept_below_the_threshold_fails_and_a_discarded_one_is_no_number(adapter: Any) -> None:
    with LLMServer() as server:
        metric = adapter.Vetted(Graded(0.2), agents=agents(server))
        assert metric.measure(CASE) == 0.2
        assert (metric.is_successful(), metric.error) == (False, None)
        none = adapter.Vetted(Graded(0.2, threshold=None), agents=agents(server))
        none.measure(CASE)
        assert none.is_successful() is None
    with LLMServer(answer=score_answer(2)) as server:
        metric = adapter.Vetted(Graded(), agents=agents(server))
        assert metric.measure(CASE) is None
        kept = adapter.Vetted(Graded(), agents=agents(server), when_discarded="keep")
        assert (kept.measure(CASE), kept.success) == (0.9, True)
    assert (metric.score, metric.is_successful()) == (None, False)
    assert metric.error.startswith("metajudge discards the judgment")
    assert metric.error.endswith("the metric's score was 0.9: It adds up.")
    assert "metajudge discards the judgment" in kept.reason


def test_an_undecided_score_follows_its_own_option(adapter: Any) -> None:
    with LLMServer(answer=lambda _body: "no JSON") as server:
        metric = adapter.Vetted(Graded(), agents=agents(server), when_discarded="keep")
        assert metric.measure(CASE) is None
        assert "metajudge could not decide" in metric.error
        kept = adapter.Vetted(Graded(), agents=agents(server), when_undecided="keep")
        assert kept.measure(CASE) == 0.9


@pytest.mark.parametrize(("graded", "said"), [(Graded(None), "nothing to vet"), (Graded(0.9, error="429"), "429")])
def test_a_metric_without_a_score_is_an_error_and_nothing_is_asked(adapter: Any, graded: Any, said: str) -> None:
    with LLMServer() as server:
        metric = adapter.Vetted(graded, agents=agents(server))
        metric.measure(CASE)
        assert server.count == 0
    assert said in metric.error
    assert metric.is_successful() is False


def test_copies_for_several_cases_at_once_do_not_share_what_they_found(adapter: Any) -> None:
    async def both(first: Any, second: Any) -> list[Any]:
        return await asyncio.gather(
            first.a_measure(CASE), second.a_measure(SimpleNamespace(**vars(CASE) | {"name": "b"}))
        )

    with LLMServer() as server:
        metric = adapter.Vetted(Graded(), agents=agents(server), when_undecided="keep")
        first, second = copies([metric, metric])
        assert asyncio.run(both(first, second)) == [0.9, 0.9]
    assert first.vetting is second.vetting
    assert first.when_undecided == "keep"
    assert (first.metajudge["judgment_id"], second.metajudge["judgment_id"]) == (
        "sum/Correctness [GEval]",
        "b/Correctness [GEval]",
    )
    assert metric.metajudge is None


def test_options_that_make_no_sense_are_refused(adapter: Any) -> None:
    with pytest.raises(ConfigurationError, match="give agents="):
        adapter.Vetted(Graded())
    with pytest.raises(ConfigurationError, match="'fail' or 'keep'"):
        adapter.Vetted(Graded(), agents=["openai:a"], when_discarded="skip")
    turns = SimpleNamespace(name="c", turns=[])
    with pytest.raises(ConfigurationError, match="a text as their actual_output"):
        adapter.Vetted(Graded(), agents=["openai:a"]).measure(turns)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("deepeval") is None, reason="pip install deepeval")
def test_the_real_package_copies_and_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    real = importlib.import_module("metajudge.adapters.deepeval")
    copied = importlib.import_module("deepeval.metrics.utils").copy_metrics
    with LLMServer() as server:
        (metric,) = copied([real.Vetted(Graded(), agents=agents(server))])
        assert metric.measure(CASE) == 0.9
    assert metric.is_successful()
