"""One trace for each vet, if OpenTelemetry (extra ``otel``) is installed.

Spans and events follow the semantic conventions for generative AI and contain no judged text. A caller's trace is
continued: the header ``traceparent`` is read. Each request to a model is a span below the vet's (see
:mod:`metajudge.providers.tracing`).
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from metajudge.providers import tracing
from metajudge.types import AgentResult, Assessment, Judgment

try:
    from opentelemetry import propagate
except ImportError:
    propagate = None  # type: ignore[assignment]

Heard = Callable[[AgentResult], None]


async def traced(
    judgment: Judgment,
    work: Callable[[], Coroutine[Any, Any, Assessment]],
    headers: Mapping[str, str] | None = None,
) -> Assessment:
    """Runs a vet in a span with one event ``gen_ai.evaluation.result`` for each agent and one for the assessment.

    Args:
        headers: the request's headers; they may contain a parent trace.
    """
    tracer = tracing.tracer()
    if tracer is None or propagate is None:
        return await work()
    parent = propagate.extract(headers) if headers else None
    with tracer.start_as_current_span(
        "metajudge.vet", context=parent, record_exception=False, set_status_on_exception=False
    ) as span:  # errors may quote judged text: they are only logged
        span.set_attribute("metajudge.judgment.id", judgment.id)
        found = await work()
        if span.is_recording():
            for name, value in _attributes(found).items():
                span.set_attribute(name, value)
            for agent in found.agents:
                span.add_event("gen_ai.evaluation.result", _of_agent(agent))
            span.add_event("gen_ai.evaluation.result", _of_assessment(found))
        return found


def _attributes(found: Assessment) -> dict[str, Any]:
    attributes = {
        "metajudge.status": found.status.value,
        "metajudge.strategy": found.strategy,
        "metajudge.accepted": found.accepted,
        "metajudge.probability": found.probability,
        "metajudge.decision": None if found.decision is None else found.decision.action.value,
        "metajudge.calls": found.calls,
        "gen_ai.usage.input_tokens": found.usage.input_tokens,
        "gen_ai.usage.output_tokens": found.usage.output_tokens,
    }
    return _present(attributes)


def _of_agent(agent: AgentResult) -> dict[str, Any]:
    return _present(
        {
            "gen_ai.evaluation.name": agent.agent,
            "gen_ai.evaluation.score.value": agent.score,
            "gen_ai.request.model": agent.model,
            "error.type": None if agent.failure is None else agent.failure.kind.value,
        }
    )


def _of_assessment(found: Assessment) -> dict[str, Any]:
    label = None if found.accepted is None else ("accepted" if found.accepted else "not accepted")
    return _present(
        {
            "gen_ai.evaluation.name": "metajudge",
            "gen_ai.evaluation.score.value": found.final_score,
            "gen_ai.evaluation.score.label": label,
            "error.type": None if found.failure is None else found.failure.kind.value,
        }
    )


def _present(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
