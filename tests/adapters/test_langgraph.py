"""The LangGraph node: called with states as LangGraph calls it, and within the real package where it is installed."""

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest

from metajudge.adapters.langgraph import route, vet_node
from metajudge.errors import ConfigurationError, InputError
from tests.doubles.llm_server import LLMServer, score_answer

STATE = {"question": "What is 2 + 2?", "answer": "4", "verdict": True, "rationale": "It adds up."}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def agents(server: LLMServer) -> list[str]:
    return [f"openai:gpt-4o-mini@{server.url}"]


@dataclass
class State:
    question: str = "What is 2 + 2?"
    answer: str = "4"
    verdict: float = 0.5


@pytest.mark.parametrize("state", [STATE, State()])
@pytest.mark.parametrize(("points", "do"), [(5, "keep"), (2, "discard")])
def test_a_verdict_in_the_state_is_vetted(state: Any, points: int, do: str) -> None:
    with LLMServer(answer=score_answer(points)) as server:
        update = vet_node(agents(server), judge="gpt-4o", instruction="Is it right?")(state)
        asked = str(server.bodies[-1])
    assert update["vetted"]["do"] == do
    assert update["vetted"]["accepted"] is (do == "keep")
    assert f"metajudge {do}s the judgment" in update["vetted"]["reason"]
    assert route(update) == do
    assert "What is 2 + 2?" in asked
    assert "Is it right?" in asked


def test_a_pair_under_other_keys() -> None:
    state = {"q": "2+2?", "one": "4", "two": "5", "said": "A>B", "because": "five is wrong"}
    with LLMServer() as server:
        node = vet_node(
            agents(server),
            judge="gpt-4o",
            question="q",
            responses={"A": "one", "B": "two"},
            verdict="said",
            rationale="because",
            key="trust",
        )
        update = node(state)
        assert "five is wrong" in str(server.bodies[-1])
    assert route(update, "trust") == "keep"


def test_without_a_verdict_a_person_is_asked_and_no_model() -> None:
    with LLMServer() as server:
        update = vet_node(agents(server), judge="gpt-4o")({**STATE, "verdict": None})
        assert server.count == 0
    assert update["vetted"]["do"] == "ask"


def test_what_a_node_cannot_do_says_so() -> None:
    node = vet_node(["openai:gpt-4o-mini"], judge="gpt-4o")
    with pytest.raises(InputError, match="the state has nothing under 'answer'"):
        node({"question": "2+2?", "verdict": True})
    with pytest.raises(InputError, match="the state's verdict is not valid: verdict"):
        node({**STATE, "verdict": "A>B"})
    with pytest.raises(InputError, match="add a vet_node before"):
        route(STATE)
    with pytest.raises(ConfigurationError, match="no option stor"):
        vet_node(judge="gpt-4o", options={"stor": "x"})


@pytest.mark.slow
def test_in_a_graph_of_the_real_package() -> None:
    graph_api = pytest.importorskip("langgraph.graph", reason="pip install langgraph")

    class Shape(TypedDict, total=False):
        question: str
        answer: str
        verdict: bool
        vetted: dict[str, Any]

    with LLMServer() as server:
        graph = graph_api.StateGraph(Shape)
        graph.add_node("vet", vet_node(agents(server), judge="gpt-4o"))
        graph.add_edge(graph_api.START, "vet")
        graph.add_conditional_edges("vet", route, {"keep": graph_api.END, "ask": "vet", "discard": "vet"})
        ended = graph.compile().invoke(dict(STATE))
    assert ended["vetted"]["do"] == "keep"
