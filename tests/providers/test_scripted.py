"""The public model for tests complains when its script ends; calls carry their key through wrappers."""

import pytest

from metajudge.errors import ConfigurationError
from metajudge.providers.model import request_key
from metajudge.providers.scripted import ScriptedModel
from metajudge.providers.tracing import TracedModel
from metajudge.providers.wrapper import CallAttempt
from tests.doubles.model_requests import ask


async def test_an_exhausted_script_is_an_error_and_never_an_empty_answer():
    model = ScriptedModel(["only"])
    await model.complete(ask())
    with pytest.raises(ConfigurationError, match="asked 2 times, but its script has only 1 answers"):
        await model.complete(ask())


def test_a_call_carries_its_key_from_attempt_to_attempt():
    model, request = ScriptedModel([]), ask(draw=3, fresh=True, seed=1)
    call = CallAttempt.of(model, request)
    assert call.key == request_key(model, request)
    assert CallAttempt.of(model, call) is call
    later = call.again(2)
    assert (later.key, later.attempt, later.draw, later.fresh) == (call.key, 2, 3, True)
    assert later.content() == request.content()


async def test_no_span_is_made_where_only_the_package_was_imported(monkeypatch):
    trace = pytest.importorskip("opentelemetry.trace")
    for kind in (trace.ProxyTracer, trace.NoOpTracer):
        monkeypatch.setattr(kind, "start_as_current_span", None)  # a call would fail
    for provider in (trace.ProxyTracerProvider(), trace.NoOpTracerProvider()):
        monkeypatch.setattr(trace, "get_tracer_provider", lambda provider=provider: provider)
        assert (await TracedModel(ScriptedModel(["text"])).complete(ask())).text == "text"
