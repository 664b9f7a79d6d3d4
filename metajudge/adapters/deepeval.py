"""A DeepEval metric whose verdict is vetted: a score that meta-judges discard does not pass.

::

    from deepeval import evaluate
    from deepeval.metrics import AnswerRelevancyMetric
    from metajudge.adapters.deepeval import Vetted

    evaluate(test_cases, [Vetted(AnswerRelevancyMetric(), agents=["anthropic:claude-sonnet-4-5"])])

Needs DeepEval in the same environment: ``pip install deepeval``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from metajudge.adapters.vetting import Vetting, reason_of, summary_of, vetting_one
from metajudge.errors import ConfigurationError
from metajudge.types import Assessment, Judgment
from metajudge.types.digests import digest

try:
    from deepeval.metrics import BaseMetric
    from deepeval.metrics.utils import copy_metrics
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise ConfigurationError(f"the DeepEval adapter needs deepeval ({error}): pip install deepeval") from error

WhenDiscarded = Literal["fail", "keep"]


class Vetted(BaseMetric):  # type: ignore[misc]
    """Wraps a metric that a model grades: its score counts where meta-judges keep it.

    A score that is discarded, or on which nothing could be decided, is an error of the metric with the reason: the test
    case fails and no number enters an average. With ``keep`` it counts as it is. Either way ``metajudge`` has what was
    decided, by whom, and the reason says so.

    Args:
        metric: such as ``AnswerRelevancyMetric()`` or ``GEval(...)``.
        agents: meta-judges, ``[NAME=]PROVIDER:MODEL[@BASE_URL]``.
        config: a panel file, in place of agents.
        service: URL of a running `metajudge serve`, in place of both.
        when_discarded: what becomes of a discarded score.
        when_undecided: what becomes of a score on which nothing could be decided.
        options: further ones of :class:`metajudge.adapters.vetting.Vetting`, such as ``{"store": "vetting.db"}``.
        vetting: what vets, in place of all of these.

    Attributes:
        metajudge: the last decision; None before the first.

    Raises:
        ConfigurationError: options that make no sense together.
    """

    def __init__(
        self,
        metric: Any,
        agents: Sequence[Any] = (),
        config: str | None = None,
        service: str | None = None,
        when_discarded: WhenDiscarded = "fail",
        when_undecided: WhenDiscarded = "fail",
        options: Mapping[str, Any] | None = None,
        vetting: Vetting | None = None,
    ) -> None:
        when = {"when_discarded": when_discarded, "when_undecided": when_undecided}
        # DeepEval copies a metric for every test case, by the attributes that its arguments are named after.
        self.metric = metric
        self.vetting = vetting_one("score", "fail", when, agents, config, service, options, made=vetting)
        self.when_discarded = when_discarded
        self.when_undecided = when_undecided
        self.threshold = metric.threshold
        self.strict_mode = metric.strict_mode
        self.async_mode = metric.async_mode
        self.evaluation_model = metric.evaluation_model
        self.metajudge: dict[str, Any] | None = None

    @property
    def __name__(self) -> str:
        """The metric's name, marked."""
        return f"{self.metric.__name__} [vetted]"

    def measure(self, test_case: Any, *args: Any, **options: Any) -> float | None:
        """Measures, and vets what was found."""
        (graded,) = copy_metrics([self.metric])
        graded.measure(test_case, *args, **options)
        judged = judgment_of(graded, test_case)
        return self._settle(graded, None if judged is None else self.vetting.vet_now(judged))

    async def a_measure(self, test_case: Any, *args: Any, **options: Any) -> float | None:
        """The same in an event loop."""
        (graded,) = copy_metrics([self.metric])
        await graded.a_measure(test_case, *args, **options)
        judged = judgment_of(graded, test_case)
        return self._settle(graded, None if judged is None else await self.vetting.vet(judged))

    def is_successful(self) -> bool | None:
        """Whether the score counts and reaches the threshold."""
        reached = None if self.threshold is None else self.score is not None and bool(self.score >= self.threshold)
        self.success: bool | None = False if self.error is not None else reached
        return self.success

    def _settle(self, graded: Any, assessment: Assessment | None) -> float | None:
        """Takes over what the metric found, where it counts."""
        for name in ("evaluation_model", "evaluation_cost", "input_tokens", "output_tokens", "verbose_logs"):
            setattr(self, name, getattr(graded, name, None))
        self.score, self.reason, self.error = graded.score, graded.reason, graded.error
        if assessment is None:
            self.metajudge = None
            self.error = self.error or "the metric gave no score: nothing to vet"
        else:
            self.metajudge = {**summary_of(assessment), "score": graded.score, "reason": reason_of(assessment)}
            if self.evaluation_cost is not None and assessment.cost_usd is not None:
                self.evaluation_cost += assessment.cost_usd
            self._decide(assessment)
        self.is_successful()
        score: float | None = self.score
        return score

    def _decide(self, assessment: Assessment) -> None:
        said = f"{self.reason or ''}\n\n{reason_of(assessment)}".strip()
        when = self.when_undecided if assessment.kept is None else self.when_discarded
        if assessment.kept or when == "keep":
            self.reason = said
            return
        self.error = f"{reason_of(assessment)}; the metric's score was {self.score}: {self.reason or 'no reason given'}"
        self.score = None


def judgment_of(metric: Any, test_case: Any) -> Judgment | None:
    """What a metric found as a judgment: a grade of the output, with the metric's reason; None without a score.

    Args:
        metric: after its measurement.
        test_case: an ``LLMTestCase``.

    Raises:
        ConfigurationError: a test case without an output to grade.
    """
    output = getattr(test_case, "actual_output", None)
    if metric.score is None or metric.error is not None:
        return None
    if not isinstance(output, str):
        raise ConfigurationError("only test cases with a text as their actual_output can be vetted (LLMTestCase)")
    question = _question(test_case)
    reference = getattr(test_case, "expected_output", None)
    name = str(getattr(test_case, "name", None) or digest([question, output])[:12])
    return Judgment.model_validate(
        {
            "id": f"{name}/{metric.__name__}",
            "item": {
                "id": f"{name}/{metric.__name__}",
                "question": question,
                "responses": {"A": output},
                "reference": reference or None,
                "scale": [0, 1],
            },
            "judge": f"{metric.evaluation_model or 'deepeval'}/{metric.__name__}",
            "verdict": float(metric.score),
            "rationale": str(metric.reason or ""),
            "instruction": _instruction(metric),
        }
    )


def _question(test_case: Any) -> str:
    """The input, with the passages that the output was to be based on."""
    passages = getattr(test_case, "retrieval_context", None) or getattr(test_case, "context", None) or ()
    listed = "".join(f"\n- {passage}" for passage in passages)
    return f"{test_case.input}\n\nContext:{listed}" if listed else str(test_case.input)


def _instruction(metric: Any) -> str:
    """What the metric measures: the criteria or steps of a G-Eval, else its name."""
    steps = getattr(metric, "evaluation_steps", None) or ()
    criteria = getattr(metric, "criteria", None) or " ".join(map(str, steps)) or f"DeepEval's metric {metric.__name__}."
    return f"Grade the response from 0 (worst) to 1 (best). {criteria}"
