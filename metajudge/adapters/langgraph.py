"""A LangGraph node: a verdict in the state goes in, what to do with it comes out.

::

    from langgraph.graph import END, StateGraph
    from metajudge.adapters.langgraph import route, vet_node

    graph = StateGraph(State)  # with question, answer, verdict, rationale, vetted
    graph.add_node("vet", vet_node(agents=["openai:gpt-4o-mini"], responses={"A": "answer"}, judge="gpt-4o"))
    graph.add_conditional_edges("vet", route, {"keep": END, "ask": "person", "discard": "judge"})

A node is a function of the state, so nothing of LangGraph is needed here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from metajudge.adapters.vetting import Vetting, reason_of, summary_of
from metajudge.errors import InputError
from metajudge.reading.reasons import as_judgment
from metajudge.types import Judgment
from metajudge.types.digests import digest

VETTED = "vetted"
"""The key of the state that a node fills."""
NO_VERDICT = "the state has no verdict"


def vet_node(
    agents: Sequence[Any] = (),
    *,
    judge: str,
    config: str | None = None,
    service: str | None = None,
    question: str = "question",
    responses: Mapping[str, str] | None = None,
    verdict: str = "verdict",
    rationale: str = "rationale",
    reference: str | None = None,
    instruction: str | None = None,
    key: str = VETTED,
    options: Mapping[str, Any] | None = None,
) -> Callable[[Any], dict[str, Any]]:
    """A node that vets the verdict in the state.

    Args:
        agents: meta-judges, ``[NAME=]PROVIDER:MODEL[@BASE_URL]``.
        judge: what the judge is called; name its model, so that meta-judges of its family are noticed.
        config: a panel file, in place of agents.
        service: URL of a running `metajudge serve`, in place of both.
        question: the state's key of the question.
        responses: response id -> the state's key of the response; ``{"A": "answer"}`` by default.
        verdict: the state's key of the verdict: ``A>B``, a number for a grade, a word or a boolean for a category.
        rationale: the state's key of the judge's reasons, which may be missing.
        reference: the state's key of a reference answer.
        instruction: what the judge was told, as text.
        key: of what the node adds.
        options: further ones of :class:`metajudge.adapters.vetting.Vetting`, such as ``{"store": "vetting.db"}``.

    Returns:
        A function from the state (a mapping, a pydantic model or a dataclass) to its update: under ``key`` what to do
        (``do``: keep, ask or discard), the reason, score, threshold, agents and digests. It raises ``InputError`` where
        the state lacks a key or its verdict cannot be read.

    Raises:
        ConfigurationError: options that make no sense together.
    """
    vetting = Vetting(agents, config=config, service=service, **(options or {}))
    shown = dict(responses or {"A": "answer"})

    def vet(state: Any) -> dict[str, Any]:
        said = _value(state, verdict)
        content = {
            "question": _required(state, question),
            "responses": {name: _required(state, of) for name, of in shown.items()},
            "reference": None if reference is None else _value(state, reference),
        }
        name = digest(content)[:12]
        judged: Judgment = as_judgment(
            {
                "id": f"{name}/{judge}",
                "item": {"id": name, **content},
                "judge": judge,
                "verdict": said,
                "no_verdict": NO_VERDICT if said is None else None,
                "rationale": str(_value(state, rationale) or ""),
                "instruction": instruction,
            },
            place="the state's verdict",
        )
        assessment = vetting.vet_now(judged)
        return {key: {**summary_of(assessment), "do": assessment.do.action, "reason": reason_of(assessment)}}

    return vet


def route(state: Any, key: str = VETTED) -> str:
    """What to do with the verdict, for conditional edges: keep, ask or discard.

    Raises:
        InputError: no node has vetted it.
    """
    found = _value(state, key)
    if not isinstance(found, Mapping):
        raise InputError(f"the state has nothing under {key!r}: add a vet_node before the edges that route by it")
    return str(found["do"])


def _value(state: Any, key: str) -> Any:
    return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)


def _required(state: Any, key: str) -> str:
    found = _value(state, key)
    if found is None:
        raise InputError(f"the state has nothing under {key!r}, which vet_node needs")
    return str(found)
