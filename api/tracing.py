"""One trace a vet, where OpenTelemetry (extra ``otel``) is installed; nothing otherwise.

Spans and events carry the names of the semantic conventions for generative AI; never a judged text.
"""

from collections.abc import Coroutine
from typing import Any

from metajudge.types import Assessment

try:
    from opentelemetry import trace

    _tracer: Any = trace.get_tracer("metajudge")
except ImportError:
    _tracer = None


async def traced(work: Coroutine[Any, Any, Assessment]) -> Assessment:
    """Does a vet under a span with one event ``gen_ai.evaluation.result`` for each agent and one for the whole."""
    if _tracer is None:
        return await work
    with _tracer.start_as_current_span("metajudge.vet") as span:
        found = await work
        if span.is_recording():
            for name, value in _attributes(found).items():
                span.set_attribute(name, value)
            for agent in found.agents:
                span.add_event("gen_ai.evaluation.result", _event(agent.agent, agent.score, agent.failure))
            span.add_event("gen_ai.evaluation.result", _event("metajudge", found.final_score, found.failure))
        return found


def _attributes(found: Assessment) -> dict[str, Any]:
    told = {
        "metajudge.judgment.id": found.judgment_id,
        "metajudge.status": found.status.value,
        "metajudge.strategy": found.strategy,
        "metajudge.accepted": found.accepted,
        "metajudge.probability": found.probability,
        "metajudge.decision": None if found.decision is None else found.decision.action.value,
        "metajudge.calls": found.calls,
        "gen_ai.usage.input_tokens": found.usage.input_tokens,
        "gen_ai.usage.output_tokens": found.usage.output_tokens,
    }
    return {name: value for name, value in told.items() if value is not None}


def _event(name: str, score: float | None, failure: Any) -> dict[str, Any]:
    event: dict[str, Any] = {"gen_ai.evaluation.name": name}
    if score is not None:
        event["gen_ai.evaluation.score.value"] = score
    if failure is not None:
        event["error.type"] = failure.kind.value
    return event
