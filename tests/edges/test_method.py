"""The method end to end: scores, thresholds, strategies and decisions are those that were worked out by hand."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metajudge import MetajudgeError, ScriptedModel, vet
from tests.doubles.llm_server import LLMServer
from tests.edges import method
from tests.edges.inner import ServiceOptions, panel_config, running
from tests.edges.method import FAILING, FIRST, Expected, Speakers, judgment
from tests.stored.commands import inside, run

NAMES = ("ann", "ben", "cat")
DISCUSSION = {"strategy": "panel_discussion"}
WITH_SUMMARY = {"discussion": {"summariser": {"name": "sum", "model": "vllm:sum@{url}/v1"}}}
RUNS: dict[str, tuple[tuple[str, ...], dict[str, Any], Expected, int]] = {
    "single": (("ann",), {"strategy": "single"}, method.SINGLE, 1),
    "average": (NAMES, {"strategy": "weighted_average"}, method.AVERAGE, 3),
    "weighted": (*(NAMES, {"strategy": "weighted_average", "agent_weights": {"ann": 2.0}}), *(method.WEIGHTED, 3)),
    "majority": (NAMES, {"strategy": "majority_vote"}, method.MAJORITY, 3),
    "majority_of_two": (NAMES[:2], {"strategy": "majority_vote"}, method.MAJORITY_OF_TWO, 2),
    "discussion": (NAMES[:2], DISCUSSION, method.DISCUSSION, 4),
    "discussion_average": (
        *(NAMES[:2], {**DISCUSSION, "discussion": {"aggregate": "average"}}),
        *(method.DISCUSSION_AVERAGE, 4),
    ),
    "discussion_in_turn": (
        *(NAMES[:2], {**DISCUSSION, "discussion": {"rounds": "sequential"}}),
        *(method.MAJORITY_OF_TWO, 2),
    ),
    "summary": (NAMES[:2], {**DISCUSSION, **WITH_SUMMARY}, method.SUMMARY, 5),
}
"""Name -> agents, settings, what must come of it, calls a judgment."""

FAILED_RUNS = {"weighted_average": method.FAILED_AVERAGE, "majority_vote": method.FAILED_MAJORITY}


@pytest.fixture(scope="module")
def speakers() -> Speakers:
    return Speakers()


@pytest.fixture(scope="module")
def models(speakers: Speakers) -> Iterator[LLMServer]:
    with LLMServer(answer=lambda body: speakers.serve(body)) as server:
        yield server


def panel_of(name: str, url: str = "", **more: Any) -> dict[str, Any]:
    """The panel of a run, as plain data."""
    agents, settings, _, _ = RUNS[name]
    return json.loads(json.dumps(method.panel(*agents, url=url, **settings, **more)).replace("{url}", url))


def objects(speakers: Speakers, *names: str) -> list[ScriptedModel]:
    """A model object for each agent, which says what its agent says."""

    def one(name: str) -> ScriptedModel:
        def answer(request: Any) -> str:
            asked = [part for part in request.schema.schema["properties"] if part in method.CRITERIA]
            return speakers.reply(name, "\n".join(message.text for message in request.messages), asked)

        return ScriptedModel(answer, name=name)

    return [one(name) for name in names]


def in_python(speakers: Speakers, panel: dict[str, Any], keys: Any, **options: Any) -> dict[str, Any]:
    """Judgment -> its assessment as plain data, of `vet` in Python."""
    speakers.forget()
    names = [agent["name"] for agent in panel["agents"]]
    names += ["sum"] if panel.get("discussion", {}).get("summariser") else []
    found = vet([judgment(key) for key in keys], objects(speakers, *names), panel=panel_config(panel), **options)
    return {one.judgment_id: one.model_dump(mode="json") for one in found}


def on_the_command_line(
    folder: Path, models: LLMServer, speakers: Speakers, panel: dict[str, Any], keys: Any, *words: str
) -> dict[str, Any]:
    """The same of `metajudge vet`."""
    speakers.forget()
    (folder / "judgments.jsonl").write_text("".join(json.dumps(judgment(key)) + "\n" for key in keys))
    (folder / "panel.toml").write_text(toml(panel))
    with inside(folder, models.url):
        done = run("vet", "judgments.jsonl", "--config", "panel.toml", "--out", "out.jsonl", "--json", *words)
    assert done.code in {0, 1}, done.stderr
    records = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    return {one["judgment_id"]: one for one in records}


def toml(panel: dict[str, Any]) -> str:
    """A panel file."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in panel.items() if not isinstance(value, dict | list)]
    for agent in panel["agents"]:
        lines += ["[[agents]]", *(f"{name} = {json.dumps(value)}" for name, value in agent.items())]
    discussion = dict(panel.get("discussion", {}))
    summariser = discussion.pop("summariser", None)
    lines += ["[discussion]", *(f"{name} = {json.dumps(value)}" for name, value in discussion.items())]
    if summariser:
        lines += ["[discussion.summariser]", *(f"{name} = {json.dumps(value)}" for name, value in summariser.items())]
    return "\n".join(lines) + "\n"


def same(found: dict[str, Any], expected: Expected) -> None:
    """The scores to a billionth, the decisions exactly."""
    seen = {key: (one["final_score"], one["accepted"]) for key, one in found.items()}
    assert {key: kept for key, (_, kept) in seen.items()} == {key: kept for key, (_, kept) in expected.items()}
    for key, (score, _) in expected.items():
        assert seen[key][0] == (None if score is None else pytest.approx(score, abs=1e-9)), key


@pytest.mark.parametrize("name", RUNS)
def test_each_strategy_gives_the_scores_and_decisions_of_the_method(name, speakers):
    found = in_python(speakers, panel_of(name), FIRST)
    same(found, RUNS[name][2])
    assert {speakers.calls(key) for key in FIRST} == {RUNS[name][3]}
    assert {one["threshold"] for one in found.values()} == {4.5}


@pytest.mark.parametrize("name", RUNS)
def test_the_command_line_gives_the_same_scores_and_decisions(name, models, speakers, tmp_path):
    found = on_the_command_line(tmp_path, models, speakers, panel_of(name, models.url), FIRST)
    same(found, RUNS[name][2])
    assert {speakers.calls(key) for key in FIRST} == {RUNS[name][3]}


def test_the_service_gives_the_same_scores_and_decisions(models, speakers):
    panels = {name: panel_config(panel_of(name, models.url)) for name in RUNS}
    # Without a store, so that no panel reads a reply that another one got.
    with running(ServiceOptions(panels=panels)) as client:
        for name, (_, _, expected, _) in RUNS.items():
            found = {}
            speakers.forget()
            for key in FIRST:
                answer = client.post("/v1/vet", json={"judgment": judgment(key), "panel": name})
                assert answer.status_code == 200, answer.text
                found[key] = answer.json()
            same(found, expected)


def test_a_policy_decides_alike_in_python_on_the_command_line_and_over_http(models, speakers, tmp_path):
    panel = panel_of("average", models.url)
    found = in_python(speakers, panel, FIRST, policy="verdict_score")
    assert {key: one["decision"]["action"] for key, one in found.items()} == method.ACTIONS
    found = on_the_command_line(tmp_path, models, speakers, panel, FIRST, "--policy", "verdict_score")
    assert {key: one["decision"]["action"] for key, one in found.items()} == method.ACTIONS
    with running(ServiceOptions(panels={"three": panel_config(panel)}, store=tmp_path / "http.duckdb")) as client:
        speakers.forget()
        asked = {key: {"judgment": judgment(key), "policy": "verdict_score"} for key in FIRST}
        answers = {key: client.post("/v1/vet", json=body).json() for key, body in asked.items()}
    assert {key: one["decision"]["action"] for key, one in answers.items()} == method.ACTIONS


def test_an_exact_threshold_is_not_passed_by_float_noise():
    weights = (0.20, 0.20, 0.15, 0.10, 0.15, 0.10, 0.10)
    scores = (method.NOISY, method.NOISY_TOO, method.NOISY_AGAIN)
    plain = [sum(w * s for w, s in zip(weights, one, strict=True)) for one in scores]
    assert all(abs(one - 4.5) < 1e-9 for one in plain)
    assert all(one > 4.5 for one in plain), "these sums are not above 4.5 by noise, so k2 would prove nothing"


@pytest.mark.parametrize(("threshold", "kept"), [(3.9, True), (4.0, False), (4.1, False)])
def test_a_threshold_of_your_own_is_passed_by_higher_scores_alone(threshold, kept, speakers):
    found = in_python(speakers, panel_of("single", threshold=threshold), ["k6"])["k6"]
    assert (found["final_score"], found["accepted"]) == (4.0, kept)


@pytest.mark.parametrize("strategy", FAILED_RUNS)
def test_failed_agents_leave_what_the_others_settle(strategy, models, speakers, tmp_path):
    panel = method.panel(*NAMES, url=models.url, strategy=strategy)
    found = in_python(speakers, panel, FAILING)
    same(found, FAILED_RUNS[strategy])
    same(on_the_command_line(tmp_path, models, speakers, panel, FAILING), FAILED_RUNS[strategy])
    unscored = {key for key, one in found.items() if one["status"] == "unscored"}
    assert unscored == {key for key, (_, kept) in FAILED_RUNS[strategy].items() if kept is None}
    averaged = {"f1", "f2", "f3", "f7", "f8"} if strategy == "weighted_average" else set()
    assert {key for key, one in found.items() if one["renormalised"]} == averaged
    assert all(found[key]["failure"] for key in unscored)
    assert [one["failure"]["kind"] for one in found["f6"]["agents"]] == ["bad_reply"] * 3


def test_of_two_agents_one_alone_is_no_majority(speakers):
    panel = method.panel("ann", "ben", strategy="weighted_average")
    found = in_python(speakers, panel, ["f4", "f5"])
    same(found, {"f4": (None, None), "f5": (None, False)})  # (5 + 1) / 2 to 5 is open; at most (1 + 5) / 2 = 3


@pytest.mark.parametrize("strategy", ["weighted_average", "majority_vote"])
def test_stopping_early_changes_no_decision(strategy, speakers):
    keys = [*FIRST, *FAILING]
    panel = method.panel(*NAMES, strategy=strategy)
    whole = in_python(speakers, panel, keys)
    calls = sum(speakers.asked.values())
    early = in_python(speakers, {**panel, "early_exit": True}, keys)
    assert {key: one["accepted"] for key, one in early.items()} == {key: one["accepted"] for key, one in whole.items()}
    assert sum(speakers.asked.values()) < calls
    for key, one in early.items():
        if one["score_bounds"] is not None:
            low, high = one["score_bounds"]
            assert one["final_score"] is None
            assert (low > 4.5) or (high <= 4.5), key


def test_criteria_that_do_not_apply_leave_sum_and_weights(speakers):
    found = in_python(speakers, panel_of("single"), ["k8"])["k8"]
    left_out = ["clarity", "completeness", "impactfulness", "logical_soundness"]
    assert sorted(found["not_applicable"]) == left_out
    scores = {name: one["score"] for name, one in found["agents"][0]["criteria"].items()}
    assert scores == {**dict.fromkeys(left_out), "accuracy": 5, "fairness": 3, "relevance": 5}


def test_the_first_scores_of_a_discussion_are_kept_beside_the_revised(speakers):
    found = in_python(speakers, panel_of("discussion"), ["k1"])["k1"]
    assert [one["score"] for one in found["agents"]] == [3.0, 5.0]
    assert [one["opening"]["score"] for one in found["agents"]] == [5.0, 5.0]
    summed = in_python(speakers, panel_of("summary"), ["k4"])["k4"]
    assert summed["summariser"]["score"] == pytest.approx(4.4)


def spoken(replies: dict[str, str], panel: dict[str, Any], **options: Any) -> dict[str, Any]:
    """The assessment of one judgment by agents that say these words whenever they are asked."""
    models = [ScriptedModel(lambda _request, said=said: said, name=name) for name, said in replies.items()]
    return vet(judgment("k1"), models, panel=panel_config(panel), **options).model_dump(mode="json")


def scored(**scores: float | None) -> str:
    return json.dumps({name: {"explanation": "Seen.", "score": score} for name, score in scores.items()})


def test_weights_of_your_own_are_normalised(speakers):
    weights = {name: 3.0 if name == "accuracy" else 1.0 for name in method.CRITERIA}
    found = in_python(speakers, panel_of("single", weights=weights), ["k3"])["k3"]
    assert found["final_score"] == pytest.approx(40 / 9)  # (3 * 4 + 5 + 4 + 4 + 5 + 5 + 5) / 9
    assert found["accepted"] is False


OPTIONAL = """
version: 1
name: mine
title: Mine
description: What matters here.
scale: {low: 1, high: 5, step: 1}
criteria:
  - {name: a, title: A, description: What., weight: 3, levels: {1: bad, 2: low, 3: fair, 4: good, 5: best}}
  - name: b
    title: B
    description: Which.
    weight: 2
    optional: true
    levels: {1: bad, 2: low, 3: fair, 4: good, 5: best}
"""


@pytest.mark.parametrize(
    ("scores", "final", "kept"),
    [
        ({"a": 5, "b": 4}, 4.6, True),  # (3 * 5 + 2 * 4) / 5
        ({"a": 5, "b": None}, 5.0, True),  # b does not apply: 3 * 5 / 3
        ({"a": 4, "b": 5}, 4.4, False),
        ({"a": 5}, None, None),  # a missing criterion is no zero
        ({"a": 6, "b": 5}, None, None),  # off the scale
        ({"a": 4.5, "b": 5}, None, None),  # between the points of the scale
        ({"a": None, "b": 5}, None, None),  # a is not optional
    ],
)
def test_what_a_reply_must_hold(scores, final, kept, tmp_path):
    (tmp_path / "mine.yaml").write_text(OPTIONAL)
    panel = {"rubric": str(tmp_path / "mine.yaml"), "agents": [{"name": "ann", "model": "vllm:ann@/v1"}]}
    found = spoken({"ann": scored(**scores)}, panel)
    assert found["accepted"] is kept
    assert found["final_score"] == (None if final is None else pytest.approx(final))


@pytest.mark.parametrize(
    ("said", "final", "kept"), [("ccc", 5.0, True), ("ccw", 5.0, True), ("cww", 1.0, False), ("www", 1.0, False)]
)
def test_binary_rubrics_vote(said, final, kept):
    words = {"c": "correct", "w": "wrong"}
    replies = {
        name: json.dumps({"correct": {"explanation": "Seen.", "verdict": words[one]}})
        for name, one in zip(NAMES, said, strict=True)
    }
    found = spoken(replies, method.panel(*NAMES, rubric="binary"))
    assert (found["strategy"], found["final_score"], found["accepted"]) == ("majority_vote", final, kept)


@pytest.mark.parametrize(("said", "final", "mean"), [("ccw", 5.0, 11 / 3), ("wcw", 1.0, 7 / 3), ("cw-", None, None)])
def test_draws_of_one_agent_vote_by_a_binary_rubric(said, final, mean):
    words = {"c": "correct", "w": "wrong", "-": "perhaps"}  # a third draw could turn one against one

    def answer(request: Any) -> str:
        return json.dumps({"correct": {"explanation": "Seen.", "verdict": words[said[request.draw]]}})

    agents = [{"name": "ann", "model": "vllm:ann@/v1", "samples": 3, "temperature": 1.0}]
    panel = panel_config({"rubric": "binary", "strategy": "single", "agents": agents})
    found = vet(judgment("k1"), [ScriptedModel(answer, name="ann")], panel=panel)
    (agent,) = found.agents
    assert (found.final_score, agent.valid_samples) == (final, 3 - said.count("-"))
    assert agent.fine_score == (None if mean is None else pytest.approx(mean))


@pytest.mark.parametrize(
    ("families", "judge", "final"),
    [("warn", "gpt-4o", 5.0), ("ignore", "gpt-4o", 5.0), ("forbid", "gpt-4o", None), ("forbid", "claude-3", 5.0)],
)
def test_agents_of_the_judges_family_are_not_asked_where_that_is_forbidden(families, judge, final):
    model = ScriptedModel(lambda _request: method.reply(method.TOP, method.CRITERIA), name="gpt-5")
    panel = panel_config({**method.panel("gpt-5"), "families": families})
    found = vet(judgment("k1", judge=judge), [model], panel=panel)
    assert (found.final_score, found.calls) == (final, 0 if final is None else 1)
    assert found.status == ("failed" if final is None else "assessed")


def test_a_record_whose_item_has_another_content_in_most_records_of_a_batch_is_failed(tmp_path):
    given = [judgment("k1"), judgment("k2", judge="jay"), {**judgment("k1"), "id": "k3", "judge": "jay"}]
    given[1]["item"]["id"] = "item-k1"
    with running(ServiceOptions(store=tmp_path / "store.duckdb")) as client:
        place = client.post("/v1/vet/batch", json=given).headers["location"]
        while client.get(place).json()["ended_at"] is None:
            time.sleep(0.05)
        found = [one["assessment"] for one in client.get(f"{place}/results").json()["results"]]
    states = {one["judgment_id"]: one["status"] for one in found}
    assert states == {"k1": "assessed", "k2": "failed", "k3": "assessed"}
    (failure,) = (one["failure"] for one in found if one["failure"])
    assert "this one in 1 judgment (the majority is kept)" in failure["message"]


def test_categories_take_their_own_route(speakers):
    routes = {"Math": {"strategy": "single", "agents": ["ben"], "threshold": 4.0}, "Law": {"threshold": 4.7}}
    panel = panel_of("average", routes=routes)
    models = objects(speakers, *NAMES)
    speakers.forget()
    given = [judgment(key) for key in ("k5", "k6", "k4")]
    for one, category in zip(given, ("Math", "Law", "Art"), strict=True):
        one["item"]["category"] = category
    math, law, art = vet(given, models, panel=panel_config(panel))
    assert (math.final_score, math.accepted, math.route) == (pytest.approx(4.5), True, "Math")  # ben alone, above 4
    assert (law.final_score, law.accepted, law.route) == (pytest.approx(14 / 3), False, "Law")  # not above 4.7
    assert (art.final_score, art.accepted, art.route) == (pytest.approx(12.2 / 3), False, None)


def test_a_route_names_each_agent_once():
    panel = panel_config({**method.panel(*NAMES), "routes": {"Math": {"agents": ["ben", "ben"]}}})
    models = [ScriptedModel(lambda _request: "", name=name) for name in NAMES]
    with pytest.raises(MetajudgeError, match="agent ben is given more than once"):
        vet(judgment("k1"), models, panel=panel)


SUPPORT = {"4": 1, "44": 2, "5": -1, "55": -2, "=": 0}


def blind(name: str, first: str, second: str) -> ScriptedModel:
    """A blind judge: which answer it prefers (twice: strongly) where 4 is shown first, and where 5 is."""

    def answer(request: Any) -> str:
        text = request.messages[-1].text
        four_first = text.index("It is 4.") < text.index("It is 5.")
        support = SUPPORT[first if four_first else second]
        towards_first = support if four_first else -support
        verdict = {2: "A>>B", 1: "A>B", 0: "A=B", -1: "B>A", -2: "B>>A"}[towards_first]
        return json.dumps({"reasoning": "Seen.", "verdict": verdict})

    return ScriptedModel(answer, name=name)


@pytest.mark.parametrize(
    ("said", "final", "kept"),
    [
        ([("44", "44")], 5.0, True),
        ([("4", "4")], 4.0, True),
        ([("4", "=")], 3.5, True),
        ([("4", "5")], 3.0, False),  # it contradicts itself: exactly the middle
        ([("=", "=")], 3.0, False),
        ([("5", "5")], 2.0, False),
        ([("55", "55")], 1.0, False),
        ([("44", "44"), ("5", "5")], 3.5, True),  # (5 + 2) / 2
    ],
)
def test_judges_that_judge_again_support_or_oppose(said, final, kept):
    models = [blind(name, *one) for name, one in zip(NAMES, said, strict=False)]
    found = vet(judgment("k1"), models, strategy="rejudge", early_exit=False)
    assert (found.final_score, found.accepted, found.threshold) == (pytest.approx(final), kept, 3.0)
    assert found.calls == 2 * len(models)
