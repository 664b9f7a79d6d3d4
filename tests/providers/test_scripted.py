"""The public model for tests complains when its script ends; calls carry their key through wrappers."""

import pytest

from metajudge.errors import ConfigurationError
from metajudge.providers.scripted import ScriptedModel
from metajudge.providers.tracing import TracedModel
from tests.doubles.model_requests import ask


async def test_an_exhausted_script_is_an_error_and_never_an_empty_answer():
    model = ScriptedModel(["only"])
    await model.complete(ask())
    with pytest.raises(ConfigurationError, match="asked 2 times, but its script has only 1 answers"):
        await model.complete(ask())


async def test_no_span_is_made_where_only_the_package_was_imported(monkeypatch):
    trace = pytest.importorskip("opentelemetry.trace")
    for kind in (trace.ProxyTracer, trace.NoOpTracer):
        monkeypatch.setattr(kind, "start_as_current_span", None)  # a call would fail
    for provider in (trace.ProxyTracerProvider(), trace.NoOpTracerProvider()):
        monkeypatch.setattr(trace, "get_tracer_provider", lambda provider=provider: provider)
        assert (await TracedModel(ScriptedModel(["text"])).complete(ask())).text == "text"
