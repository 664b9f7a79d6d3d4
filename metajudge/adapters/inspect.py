"""An Inspect scorer whose grades are vetted: what a meta-judge discards does not count.

::

    from inspect_ai import Task, task
    from inspect_ai.scorer import model_graded_qa
    from metajudge.adapters.inspect import vetted

    @task
    def capitals():
        return Task(dataset=..., scorer=vetted(model_graded_qa(), agents=["openai:gpt-4o-mini"]))

Needs the extra: ``pip install '.[inspect]'`` in a checkout of metajudge.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from metajudge.adapters.vetting import reason_of, summary_of, vetting_one
from metajudge.errors import ConfigurationError
from metajudge.installation import install_command
from metajudge.types import Assessment, Category, Judgment

try:
    from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
    from inspect_ai.solver import TaskState
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise ConfigurationError(f"the Inspect adapter needs inspect_ai ({error}): {install_command('inspect')}") from error

GRADES: Mapping[str, float] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's letters as numbers, as its own metrics read them: correct, partially correct, incorrect, no answer."""

INSTRUCTION = (
    "Grade the response against the reference or criterion: 1 means that it meets it, 0 that it does not, and a number "
    "between them that it does in part."
)
"""What a grade means, for the meta-judges."""
CATEGORY_INSTRUCTION = "Put the response in a category, by the reference or criterion."

WhenDiscarded = Literal["unscored", "keep"]


@scorer(metrics=[accuracy(), stderr()], name="metajudge_vetted")
def vetted(
    graded: Scorer,
    agents: Sequence[Any] = (),
    config: str | None = None,
    service: str | None = None,
    when_discarded: WhenDiscarded = "unscored",
    when_undecided: WhenDiscarded = "unscored",
    judge: str = "inspect",
    options: Mapping[str, Any] | None = None,
) -> Scorer:
    """Wraps a model-graded scorer: its grade counts where meta-judges keep it.

    A grade that is discarded, or on which nothing could be decided, leaves the sample unscored (Inspect leaves it out
    of metrics and counts it) or, with ``keep``, is kept as it is. Either way the score's metadata holds, under
    ``metajudge``, the grade as it was and what was decided, by whom.

    Args:
        graded: such as ``model_graded_qa()``; its value must be a letter (C, P, I, N), a number, a bool or another
            word, which is a category.
        agents: meta-judges, ``[NAME=]PROVIDER:MODEL[@BASE_URL]``.
        config: a panel file, in place of agents.
        service: URL of a running `metajudge serve`, in place of both.
        when_discarded: what becomes of a discarded grade.
        when_undecided: what becomes of a grade on which nothing could be decided.
        judge: how the grader is called in the judgment; name its model, so that meta-judges of its family are noticed.
        options: further ones of :class:`metajudge.adapters.vetting.Vetting`, such as ``{"store": "vetting.db"}``.

    Raises:
        ConfigurationError: options that make no sense together.
    """
    when = {"when_discarded": when_discarded, "when_undecided": when_undecided}
    vetting = vetting_one("grade", "unscored", when, agents, config, service, options)

    async def score(state: TaskState, target: Target) -> Score | None:
        given = await graded(state, target)
        if given is None:
            return None
        assessment = await vetting.vet(judgment_of(state, target, given, judge))
        return vetted_score(given, assessment, when_discarded, when_undecided)

    return score


def judgment_of(state: TaskState, target: Target, given: Score, judge: str) -> Judgment:
    """A model-graded score as a judgment: a grade or category of the one response, with the grader's reasons."""
    verdict, why = _verdict(given)
    reference = target.text
    return Judgment.model_validate(
        {
            "id": f"{state.sample_id}/{state.epoch}",
            "item": {
                "id": str(state.sample_id),
                "question": state.input_text,
                "responses": {"A": given.answer if given.answer is not None else state.output.completion},
                "reference": reference or None,
            },
            "judge": judge,
            "verdict": verdict,
            "no_verdict": why,
            "rationale": given.explanation or "",
            "instruction": CATEGORY_INSTRUCTION if isinstance(verdict, Category) else INSTRUCTION,
        }
    )


def _verdict(given: Score) -> tuple[float | Category | None, str | None]:
    """The grade as a number in [0, 1] or on the grader's own scale, or a category; or the reason why it is missing."""
    value = given.value
    if isinstance(value, str):
        letter = value.strip().upper()
        if letter in GRADES:
            return GRADES[letter], None
        return (Category(value.strip()), None) if letter else (None, "the grader's value is an empty text")
    if isinstance(value, bool | int | float):
        if math.isfinite(value):
            return float(value), None
        return None, f"the grader gave no grade ({given.reason or 'no reason given'})"
    return None, f"the score is a {type(value).__name__} and not a single grade: wrap a scorer that gives one"


def vetted_score(
    given: Score, assessment: Assessment, when_discarded: WhenDiscarded, when_undecided: WhenDiscarded
) -> Score:
    """The score with what was decided about it."""
    reason = reason_of(assessment)
    number = not isinstance(given.value, float) or math.isfinite(given.value)
    summary = {**summary_of(assessment), "grade": given.value if number else None, "reason": reason}
    metadata = {**(given.metadata or {}), "metajudge": summary}
    explanation = f"{given.explanation or ''}\n\n{reason}".strip()
    undecided = assessment.kept is None
    keep = assessment.kept or (when_undecided if undecided else when_discarded) == "keep"
    if keep:
        return given.model_copy(update={"explanation": explanation, "metadata": metadata})
    return Score.unscored(
        reason="metajudge_undecided" if undecided else "metajudge_discarded",
        answer=given.answer,
        explanation=explanation,
        metadata=metadata,
    )
