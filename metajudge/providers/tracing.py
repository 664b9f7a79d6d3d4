"""A span for every request to a model, where OpenTelemetry is in use; nothing otherwise.

Names are those of the semantic conventions for generative AI; never a text. A span is part of whatever trace is at
work, such as the service's trace of a vet.
"""

import sys
from typing import Any
from urllib.parse import urlsplit

from metajudge.errors import ProviderError
from metajudge.providers.model import ModelRequest
from metajudge.providers.wrapper import CallAttempt, ModelWrapper
from metajudge.types import Reply


def tracer() -> Any:
    """OpenTelemetry's tracer; None where it was not imported in this process, so that no exporter is set up."""
    trace = sys.modules.get("opentelemetry.trace")
    return None if trace is None else trace.get_tracer("metajudge")


class TracedModel(ModelWrapper):
    """A model each of whose requests is a span; retries are requests of their own, cached replies are none."""

    async def complete(self, request: ModelRequest) -> Reply:
        found = tracer()
        trace = sys.modules.get("opentelemetry.trace")
        # An SDK imports the package, too; without a provider of tracers spans would be made to go nowhere.
        if found is None or trace is None or isinstance(found, (trace.ProxyTracer, trace.NoOpTracer)):
            return await self._inner.complete(request)
        with found.start_as_current_span(
            f"chat {self.name}",
            kind=trace.SpanKind.CLIENT,
            attributes=self._asked(request),
            record_exception=False,  # messages may quote what was judged
            set_status_on_exception=False,
        ) as span:
            try:
                reply = await self._inner.complete(request)
            except BaseException as error:
                kind = error.kind.value if isinstance(error, ProviderError) else type(error).__name__
                span.set_attribute("error.type", kind)
                span.set_status(trace.StatusCode.ERROR)
                raise
            span.set_attributes(_answered(reply))
            return reply

    def _asked(self, request: ModelRequest) -> dict[str, Any]:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self.endpoint.protocol,
            "gen_ai.request.model": self.name,
            "server.address": urlsplit(self.endpoint.base_url).hostname,
            "metajudge.attempt": CallAttempt.of(self, request).attempt,
        }
        return {name: value for name, value in attributes.items() if value is not None}


def _answered(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    attributes = {
        "gen_ai.response.model": reply.model,
        "gen_ai.response.finish_reasons": None if reply.finish is None else [str(reply.finish)],
        "gen_ai.usage.input_tokens": None if usage is None else usage.input_tokens,
        "gen_ai.usage.output_tokens": None if usage is None else usage.output_tokens,
        "metajudge.cost_usd": reply.cost_usd,
    }
    return {name: value for name, value in attributes.items() if value is not None}
