"""One trace for each vet, and an event for each result, if OpenTelemetry (extra ``otel``) is installed.

Names are those of the semantic conventions for generative AI (``gen_ai.*``, status "development"); what they have no
name for, such as who evaluated, is under ``metajudge.*``. A caller's trace is continued: the header ``traceparent`` is
read; a judgment whose ``meta`` has a ``traceparent`` links to that span. Each request to a model is a span below the
vet's (see :mod:`metajudge.providers.metering`).

Events ``gen_ai.evaluation.result`` are log records of the vet's span where the SDK has a logger provider, else events
of the span. Nothing has a text, unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says so.
"""

import os
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any

from metajudge import __version__
from metajudge.providers import metering
from metajudge.types import AgentResult, Assessment, Judgment

try:
    from opentelemetry import _logs, propagate, trace
except ImportError:
    propagate = None  # type: ignore[assignment]

EVENT = "gen_ai.evaluation.result"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable of OpenTelemetry's own instrumentations that lets texts out."""
_CAPTURED = frozenset({"true", "event_only", "span_and_event"})


async def traced(
    judgment: Judgment, work: Callable[[], Coroutine[Any, Any, Assessment]], headers: Mapping[str, str] | None = None
) -> Assessment:
    """Runs a vet in a span with one event ``gen_ai.evaluation.result`` for each agent and one for the assessment.

    Args:
        headers: the request's headers; they may contain a parent trace.
    """
    tracer = metering.tracer()
    if tracer is None or propagate is None:
        return await work()
    parent = propagate.extract(headers) if headers else None
    with tracer.start_as_current_span(
        "metajudge.vet", context=parent, links=_links(judgment), record_exception=False, set_status_on_exception=False
    ) as span:  # errors may quote judged text: they are only logged
        span.set_attribute("metajudge.judgment.id", judgment.id)
        found = await work()
        if span.is_recording():
            span.set_attributes(_attributes(found))
        logger = event_logger()
        texts = os.environ.get(CAPTURE, "").strip().lower() in _CAPTURED
        for attributes in _events(judgment, found, texts=texts):
            if logger is None:
                span.add_event(EVENT, attributes)
            else:  # the record has the ids of the current span
                logger.emit(event_name=EVENT, attributes=attributes, severity_number=_logs.SeverityNumber.INFO)
        return found


def event_logger() -> Any:
    """What events are emitted by; None where no logger provider is set up."""
    provider = _logs.get_logger_provider()
    return provider.get_logger("metajudge", __version__) if hasattr(provider, "add_log_record_processor") else None


def _links(judgment: Judgment) -> list[Any]:
    """The span of what was judged, where the caller says it."""
    given = judgment.meta.get("traceparent")
    if not isinstance(given, str):
        return []
    context = trace.get_current_span(propagate.extract({"traceparent": given})).get_span_context()
    return [trace.Link(context)] if context.is_valid else []


def _attributes(found: Assessment) -> dict[str, Any]:
    return _present(
        {
            "metajudge.status": found.status.value,
            "metajudge.strategy": found.strategy,
            "metajudge.accepted": found.kept,
            "metajudge.probability": found.probability,
            "metajudge.decision": None if found.decision is None else found.decision.action.value,
            "metajudge.calls": found.calls,
            "gen_ai.usage.input_tokens": found.usage.input_tokens,
            "gen_ai.usage.output_tokens": found.usage.output_tokens,
        }
    )


def _events(judgment: Judgment, found: Assessment, *, texts: bool) -> Iterator[dict[str, Any]]:
    """The attributes of each event: first of the agents, then of the assessment."""
    response = judgment.meta.get("gen_ai.response.id")
    about = {
        "gen_ai.response.id": response if isinstance(response, str) else None,
        "metajudge.judgment.id": judgment.id,
        "metajudge.judge": judgment.judge,
        "metajudge.evaluator.version": found.metajudge_version,
        "metajudge.evaluator.panel": found.panel_digest,
    }
    for agent in (one for one in found.agents if one.skipped is None):
        yield _present({**_of_agent(agent, texts=texts), **about})
    yield _present({**_of_assessment(found, texts=texts), **about})


def _of_agent(agent: AgentResult, *, texts: bool) -> dict[str, Any]:
    said = [one.explanation for one in (agent.criteria or {}).values() if one.explanation] if texts else []
    return {
        "gen_ai.evaluation.name": agent.agent,
        "gen_ai.evaluation.score.value": agent.score,
        "gen_ai.evaluation.explanation": " ".join(said) or None,
        "gen_ai.request.model": agent.model,
        "metajudge.evaluator.kind": "model",
        "metajudge.evaluator.name": agent.agent,
        "error.type": None if agent.failure is None else agent.failure.kind.value,
    }


def _of_assessment(found: Assessment, *, texts: bool) -> dict[str, Any]:
    return {
        "gen_ai.evaluation.name": "metajudge",
        "gen_ai.evaluation.score.value": found.final_score,
        "gen_ai.evaluation.score.label": found.do.action,
        "gen_ai.evaluation.explanation": found.do.reason if texts else None,
        "metajudge.probability": found.probability,
        "metajudge.evaluator.kind": "model" if found.agents else "code",
        "metajudge.evaluator.name": "metajudge",
        "error.type": None if found.failure is None else found.failure.kind.value,
    }


def _present(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
