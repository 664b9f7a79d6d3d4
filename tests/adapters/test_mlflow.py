"""The MLflow scorer, with a double of MLflow's modules and a server that stands for the meta-judge."""

import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from metajudge.errors import ConfigurationError
from metajudge.reading.own_notes import is_ours
from tests.doubles import mlflow_modules
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.mlflow_modules import AssessmentError, AssessmentSource, Feedback, Scorer

JUDGE = AssessmentSource("LLM_JUDGE", "openai:/gpt-4o")
TRACE = SimpleNamespace(info=SimpleNamespace(trace_id="tr-1"))


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Any:
    mlflow_modules.install(monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return import_module("metajudge.adapters.mlflow")


def judge(*said: Any) -> Scorer:
    def correctness(inputs: Any, outputs: Any) -> Any:
        return list(said) if len(said) > 1 else said[0]

    return Scorer(correctness, "correctness")


def run(adapter: Any, given: Scorer, score: int, **options: Any) -> list[Any]:
    with LLMServer(answer=score_answer(score)) as server:
        scorer = adapter.vetted(given, [f"openai:gpt-4o-mini@{server.url}"], **options)
        assert scorer.name == "correctness"
        found = scorer.run(
            inputs={"question": "2 + 2?"}, outputs="4", expectations={"expected_response": "4"}, trace=TRACE
        )
    return list(found)


def test_what_is_kept_stays_and_a_note_stands_beside_it(adapter: Any) -> None:
    said = Feedback("correctness", value=True, rationale="It is.", source=JUDGE)
    kept, note = run(adapter, judge(said), 5)
    assert kept is said
    assert (note.name, note.value, note.source) == (
        "correctness_vetted",
        "keep",
        AssessmentSource("LLM_JUDGE", "metajudge"),
    )
    assert note.metadata["judgment_id"] == "tr-1/correctness"
    assert is_ours(note.metadata)


def test_what_is_discarded_has_no_value_and_the_value_is_in_its_metadata(adapter: Any) -> None:
    said = Feedback("correctness", value=True, rationale="It is.", source=JUDGE, metadata={"a": "b"})
    gone, note = run(adapter, judge(said), 1)
    assert (gone.value, gone.error.error_code, gone.rationale, gone.source) == (
        None,
        "METAJUDGE_NOT_KEPT",
        "It is.",
        JUDGE,
    )
    assert gone.metadata == {"a": "b", "value_not_kept": "True"}
    assert note.value == "discard"
    kept, _ = run(adapter, judge(said), 1, when_discarded="keep")
    assert kept is said


def test_bare_values_are_vetted_and_failures_and_what_is_no_verdict_stay_as_they_are(adapter: Any) -> None:
    assert [one.name for one in run(adapter, judge("yes"), 5)] == ["correctness", "correctness_vetted"]
    several = [Feedback("a", value=1), Feedback("b", value="good")]
    assert [one.name for one in run(adapter, judge(*several), 5)] == ["a", "a_vetted", "b", "b_vetted"]
    assert run(adapter, Scorer(lambda: None, "correctness"), 5) == []
    failed = Feedback("correctness", error=AssessmentError("TIMEOUT", "too late"), source=JUDGE)
    kept, note = run(adapter, judge(failed), 5)
    assert kept is failed
    assert (note.value, note.source.source_type) == ("ask", "CODE")
    assert "too late" in note.rationale
    strange = Feedback("correctness", value={"a": 1})
    kept, note = run(adapter, judge(strange), 5)
    assert kept is strange
    assert note.error.error_code == "METAJUDGE_NOT_READ"
    assert "is no verdict here" in note.error.error_message


def test_a_judgment_is_that_of_an_export(adapter: Any) -> None:
    said = Feedback("correctness", value="yes", rationale="It is.", source=JUDGE)
    found = adapter.judgment_about(said, {"question": "2 + 2?"}, {"answer": "4"}, {"expected_response": "4"}, TRACE)
    assert (found.judge, found.item.id, found.item.reference) == ("openai:/gpt-4o/correctness", "tr-1", "4")
    assert (found.item.question, found.item.responses, found.rationale) == ("2 + 2?", {"A": "4"}, "It is.")
    without = adapter.judgment_about(said, "2 + 2?", "4")
    assert without.id == adapter.judgment_about(said, "2 + 2?", "4").id


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"when_discarded": "drop"}, "when_discarded is 'unscored' or 'keep', not 'drop'"),
        ({"agents": []}, "no free evidence: give agents"),
        ({"judge": len}, "give a scorer of MLflow"),
    ],
)
def test_options_that_make_no_sense_are_refused(adapter: Any, given: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"judge": judge(True), "agents": ["openai:gpt-4o-mini"], **given}
    with pytest.raises(ConfigurationError, match=message):
        adapter.vetted(arguments.pop("judge"), arguments.pop("agents"), **arguments)


def test_without_mlflow_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow.entities", None)
    with pytest.raises(ConfigurationError, match="pip install mlflow"):
        import_module("metajudge.adapters.mlflow").vetted(judge(True), ["openai:gpt-4o-mini"])
