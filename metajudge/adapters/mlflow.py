"""An MLflow scorer whose feedback is vetted: what a meta-judge discards is no value, and a note says why.

::

    import mlflow
    from mlflow.genai.scorers import Correctness
    from metajudge.adapters.mlflow import vetted

    mlflow.genai.evaluate(data=..., scorers=[vetted(Correctness(), agents=["openai:gpt-4o-mini"])])

The notes are those of ``metajudge push mlflow``: readers of MLflow's exports leave them out. Needs MLflow 3 with
``mlflow.genai`` (``pip install mlflow``).
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

import orjson

from metajudge.adapters.vetting import vetting_one
from metajudge.errors import ConfigurationError, InputError
from metajudge.reading.containers.lines import BadLine
from metajudge.reading.formats.scored_runs import (
    RecordedRun,
    RecordedScore,
    asked_and_answered,
    judgment_of,
    reference_text,
)
from metajudge.reading.formats.stated_scores import reason_text
from metajudge.reading.vocabulary import Vocabulary
from metajudge.systems.system import note_of
from metajudge.types import Assessment, Judgment, digest

WhenDiscarded = Literal["unscored", "keep"]
SUFFIX = "_vetted"
"""What the name of a note has behind the name of the feedback."""
_REFERENCES = ("expected_response", "expected_output", "expected_answer", "ground_truth", "reference")
_VOCABULARY = Vocabulary({}, categories=True)


def vetted(
    judge: Any,
    agents: Sequence[Any] = (),
    *,
    config: str | None = None,
    service: str | None = None,
    when_discarded: WhenDiscarded = "unscored",
    when_undecided: WhenDiscarded = "unscored",
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Wraps a scorer that asks a judge: each of its feedbacks counts where meta-judges keep it.

    Beside each feedback stands another one, named after it with :data:`SUFFIX`: ``keep``, ``ask`` or ``discard``, with
    the reason. Feedback that is discarded, or on which nothing could be decided, has an error in place of its value
    (MLflow leaves it out of its means), its value in the metadata, and its rationale as it was; with ``keep`` it stays
    as it is, and so does feedback that has an error of its own.

    Args:
        judge: a scorer that asks a model: of MLflow, ``make_judge(...)`` or one made with ``@scorer``.
        agents: meta-judges, ``[NAME=]PROVIDER:MODEL[@BASE_URL]``.
        config: a panel file, in place of agents.
        service: URL of a running `metajudge serve`, in place of both.
        when_discarded: what becomes of discarded feedback.
        when_undecided: what becomes of feedback on which nothing could be decided.
        options: further ones of :class:`metajudge.adapters.vetting.Vetting`, such as ``{"store": "vetting.db"}``.

    Raises:
        ConfigurationError: options that make no sense together, or MLflow is not installed.
    """
    when = {"when_discarded": when_discarded, "when_undecided": when_undecided}
    vetting = vetting_one("judgment", "unscored", when, agents, config, service, options)
    entities, scorers = _imported("mlflow.entities"), _imported("mlflow.genai.scorers")
    if not isinstance(judge, scorers.Scorer):
        raise ConfigurationError(
            f"the judge is a {type(judge).__name__}: give a scorer of MLflow, or decorate it with @scorer"
        )
    kept = {True: True, False: when_discarded == "keep", None: when_undecided == "keep"}

    @scorers.scorer(name=judge.name)  # type: ignore[untyped-decorator]
    def scored(inputs: Any = None, outputs: Any = None, expectations: Any = None, trace: Any = None) -> list[Any]:
        given = judge.run(inputs=inputs, outputs=outputs, expectations=expectations, trace=trace)
        found = []
        for feedback in _feedbacks(entities, given, judge.name):
            try:
                judgment = judgment_about(feedback, inputs, outputs, expectations, trace)
            except (BadLine, InputError) as problem:
                found += [feedback, _unread(entities, feedback, str(problem))]
                continue
            assessment = vetting.vet_now(judgment)
            counts = kept[assessment.kept] or feedback.error is not None
            counted = feedback if counts else _unscored(entities, feedback, assessment)
            found += [counted, _note(entities, feedback, assessment)]
        return found

    return scored


def judgment_about(feedback: Any, inputs: Any, outputs: Any, expectations: Any = None, trace: Any = None) -> Judgment:
    """A scorer's feedback as a judgment, as the reader of MLflow's exports makes it.

    Raises:
        BadLine: its value is no verdict, or there is no question or answer.
    """
    target = getattr(getattr(trace, "info", None), "trace_id", None) or digest(
        [reason_text(inputs), reason_text(outputs)]
    )
    source = feedback.source
    by = None if source is None or source.source_id in (None, "", "default") else str(source.source_id)
    expected = expectations if isinstance(expectations, Mapping) else {}
    reference = next((reference_text(expected[name]) for name in _REFERENCES if expected.get(name) is not None), None)
    problem = feedback.error
    score = RecordedScore(
        id=f"{target}/{feedback.name}",
        run=None,
        judge=feedback.name if by is None else f"{by}/{feedback.name}",
        value=feedback.value,
        comment=reason_text(feedback.rationale),
        meta={"judge_model": by},
        name=feedback.name,
        error=None if problem is None else str(problem.error_message or problem.error_code),
    )
    run = RecordedRun(id=str(target), **asked_and_answered(_plain(inputs), _plain(outputs)), reference=reference)
    return judgment_of(score, run, _VOCABULARY)


def _feedbacks(entities: Any, given: Any, name: str) -> Iterable[Any]:
    """What a scorer returned as feedback; a bare value is one of the scorer's name."""
    if given is None:
        return []
    several = given if isinstance(given, list) else [given]
    kind = entities.Feedback
    return [one if isinstance(one, kind) else kind(name=name, value=one) for one in several]


def _note(entities: Any, feedback: Any, assessment: Assessment) -> Any:
    note = note_of(assessment, name=f"{feedback.name}{SUFFIX}")
    return entities.Feedback(
        name=note.name,
        value=note.label,
        rationale=note.explanation,
        source=entities.AssessmentSource(source_type="LLM_JUDGE" if note.by_models else "CODE", source_id="metajudge"),
        metadata={name: str(value) for name, value in note.metadata.items()},
    )


def _unscored(entities: Any, feedback: Any, assessment: Assessment) -> Any:
    """The feedback without its value, which its metadata keep."""
    return entities.Feedback(
        name=feedback.name,
        error=entities.AssessmentError(error_code="METAJUDGE_NOT_KEPT", error_message=assessment.do.reason),
        rationale=feedback.rationale,
        source=feedback.source,
        metadata={**(feedback.metadata or {}), "value_not_kept": str(feedback.value)},
    )


def _unread(entities: Any, feedback: Any, problem: str) -> Any:
    error = entities.AssessmentError(error_code="METAJUDGE_NOT_READ", error_message=problem)
    source = entities.AssessmentSource(source_type="CODE", source_id="metajudge")
    return entities.Feedback(name=f"{feedback.name}{SUFFIX}", error=error, source=source)


def _plain(value: Any) -> Any:
    """Inputs and outputs as JSON has them."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return orjson.loads(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS))


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigurationError(f"the MLflow adapter needs mlflow 3 ({error}): pip install mlflow") from error
