"""Keys under which users have stored replies and results, in ``golden_keys.json``: a change of one asks models anew.

A key there is never edited to make a test pass. If a key has to change, stored data must be found under the old one.
"""

import importlib
import json
from pathlib import Path

import pytest

from metajudge.cases.judge import CaseJudge
from metajudge.clashes.clash import Candidate, Clash, Judge, Place
from metajudge.decision import load_policy
from metajudge.decision.load import case_rubric
from metajudge.judging.blinding import blind
from metajudge.judging.criteria import GENERIC, criteria_request
from metajudge.judging.judges import GradingJudge, PairwiseJudge, RankingForm, ranking_request
from metajudge.panels.building import build_vetter
from metajudge.panels.config import panel_config
from metajudge.peers.protocol import Peer, answer_key, ballot_key
from metajudge.prompts import case, judges, meta_judge, writers
from metajudge.prompts.meta_judge import Statement
from metajudge.prompts.templates import prompts_digest
from metajudge.providers.model import Message, ModelRequest, OutputSchema, Parameters, request_key
from metajudge.providers.spec import parse_agent_spec
from metajudge.providers.stack import Resources, build_model
from metajudge.reading.questions import Question
from metajudge.rubric import load_rubric
from metajudge.types import CriterionScore, Item
from tests.doubles.cases import flood
from tests.doubles.judgments import judgment

idempotency = importlib.import_module("metajudge.api.idempotency")
panels = importlib.import_module("metajudge.api.panels")

OPENAI, ANTHROPIC = "openai:gpt-4o-mini", "anthropic:claude-sonnet-4-5"
RESOURCES = Resources(key_for=lambda _spec: "not-sent")
SCHEMA = OutputSchema("answer", {"type": "object", "properties": {"score": {"enum": [1, 2, 3]}}, "required": ["score"]})
ITEM = Item(id="i1", question="What is 2 + 2?", responses={"A": "4", "B": "5"}, reference="4", label="A>B")
JUDGMENT = judgment(item_id="i1", category="Math")
ROUTED = judgment("j2", category="Code")
STATEMENT = Statement("ann", {"accuracy": CriterionScore(score=4.0, explanation="Adds correctly.")})
TWO = [{"name": "ann", "model": OPENAI, "temperature": 0.2}, {"model": ANTHROPIC, "role": "critic", "weight": 2}]
PANELS = {
    "single": {"agents": TWO[:1]},
    "single baseline": {"agents": TWO[:1], "rubric": "baseline", "threshold": 4.0},
    "vote": {"agents": TWO, "rubric": "binary", "seed": 7},
    "average": {"agents": TWO, "strategy": "weighted_average", "rubric": "long", "quorum": 2, "families": "forbid"},
    "discussion": {
        "agents": TWO,
        "strategy": "panel_discussion",
        "discussion": {"rounds": "sequential", "aggregate": "average", "summariser": {"model": ANTHROPIC}},
    },
    "rejudge": {"agents": TWO[:1], "strategy": "rejudge", "threshold": 3.0},
    "signals": {"strategy": "signals"},
    "draws": {"agents": [{"model": OPENAI, "samples": 3}], "early_exit": True},
    "other address": {"agents": [{"model": f"{OPENAI}@http://localhost:8000"}]},
    "routes": {"agents": TWO, "routes": {"Code": {"strategy": "weighted_average", "rubric": "baseline"}}},
}


def model(spec):
    return build_model(parse_agent_spec(spec), resources=RESOURCES)


def vetter(name):
    return build_vetter(panel_config({**PANELS[name], "prompt_version": 1}), RESOURCES, early_exit=False)


def panel_keys():
    for name in PANELS:
        yield f"panel {name}", vetter(name).default.digest
        yield f"assessment {name}", vetter(name).key(JUDGMENT)
    yield "panel of a route", vetter("routes").routes["Code"].digest
    yield "assessment of a route", vetter("routes").key(ROUTED)
    yield "judgment", JUDGMENT.digest
    yield "judgment as vetted", JUDGMENT.vetting_digest


def call_keys():
    settings = Parameters(temperature=0.0, top_p=0.9, max_tokens=50, seed=1, effort="low", headers=(("x-a", "b"),))
    for provider, spec in (("openai", OPENAI), ("anthropic", ANTHROPIC), ("other", "vllm:m@http://localhost:9/v1")):
        asked = model(spec)
        text = ModelRequest("System.", (Message("user", "Question?"),))
        yield f"call {provider} text", request_key(asked, text)
        yield (
            f"call {provider} json",
            request_key(asked, ModelRequest("System.", text.messages, SCHEMA, settings, draw=2)),
        )


def task_call_keys():
    asked = model(OPENAI)

    def key(request):
        return request_key(asked, request)

    for name in ("single", "single baseline", "vote", "draws"):
        yield f"call vet {name}", key(vetter(name).default.agents[0].request(JUDGMENT))
    critic = vetter("discussion").default.agents[1]
    yield "call vet critic", key(critic.request(JUDGMENT))
    yield "call vet discussion", key(critic.request(JUDGMENT, earlier=[STATEMENT]))
    yield "call vet summary", key(critic.request(JUDGMENT, earlier=[STATEMENT], summarise=True))
    yield "call judge", key(PairwiseJudge("ann", asked, Parameters()).request(ITEM, ("A", "B")))
    yield "call judge reversed", key(PairwiseJudge("ann", asked, Parameters(), True).request(ITEM, ("B", "A")))
    yield "call grade", key(GradingJudge("ann", asked, Parameters()).request(ITEM, "A"))
    policy, given = load_policy("risk_analysis"), flood()
    for plan, stage in zip(policy.cases.stages, given.stages, strict=True):
        rubric = case_rubric(policy).only(plan.criteria)
        yield f"call case {plan.name}", key(CaseJudge("ann", asked).request(given, stage, plan, rubric))
    labels = blind(ITEM.responses, seed=3, evaluation="i1/c1/r1", judge="ann")
    yield "call rank", key(ranking_request(ITEM.question, ITEM.responses, labels, GENERIC))
    tied = RankingForm(ties=True, reference="4")
    yield "call rank with ties", key(ranking_request(ITEM.question, ITEM.responses, labels, form=tied))
    yield "call criteria", key(criteria_request(ITEM.question))


def clash_keys():
    judges = (Judge("ann", model(OPENAI)), Judge("ben", model(ANTHROPIC), Parameters(seed=1), weight=2.0))
    given = Clash(judges=judges, seed=5)
    candidates = (Candidate("ant", model(OPENAI)), Candidate("bee", model(ANTHROPIC), Parameters(temperature=1.0)))
    generated = Clash(
        judges=judges,
        candidates=candidates,
        observers=(Judge("ant", model(OPENAI), own="ant"),),
        candidate_weight=0.5,
        criteria_model=model(OPENAI),
        ties=True,
        hide_names=("Anthill",),
    )
    yield "clash given", Place().key(ITEM, given)
    yield "clash given, second repeat", Place(cycle=1, repeat=2, repeats=2).key(ITEM, given)
    yield "clash generated", Place().key(ITEM, generated)


def peer_keys():
    question = Question(id="q1", question="What is 2 + 2?", domain="math")
    peer = Peer("ant", model(OPENAI), Parameters(seed=4), copy=1, hidden=("gpt-4o-mini", "gpt"))
    yield "peers answer", answer_key(question, peer)
    yield "peers ballot", ballot_key(question, {"ant": "4", "bee": "5"}, peer, 9)


def service_keys():
    choice = panels.Choice(panel="default", policy="verdict_score").model_dump_json().encode()
    yield "job", idempotency.fingerprint(b"batch", choice, b"digest of the upload")
    yield "job by default", idempotency.fingerprint(b"batch", panels.Choice().model_dump_json().encode(), b"")


def prompt_keys():
    used = {"case": case.CASE, "criteria": writers.CRITERIA, "grading": judges.GRADING, "judge": judges.PAIRWISE}
    used |= {"meta_judge": meta_judge.VETTING, "ranking": judges.RANKING, "refining": writers.REFINING}
    for task, templates in used.items():
        yield f"prompts {task}", prompts_digest(*templates)
    for name in ("single", "rejudge"):
        yield f"prompts of a panel, {name}", vetter(name).default.prompt_digest
    for name in ("short", "long", "binary", "baseline"):
        yield f"rubric {name}", load_rubric(name, prompt_set=1).digest
    for name in ("verdict", "verdict_score", "risk_analysis"):
        yield f"policy {name}", load_policy(name).digest


def all_keys():
    for of in (panel_keys, call_keys, task_call_keys, clash_keys, peer_keys, service_keys, prompt_keys):
        yield from of()


GOLDEN = json.loads(Path(__file__).with_name("golden_keys.json").read_text("utf-8"))


@pytest.mark.parametrize("name", GOLDEN)
def test_a_key_is_what_it_was(name):
    assert dict(all_keys())[name] == GOLDEN[name]


def test_every_key_has_its_literal():
    found = list(all_keys())
    assert {name for name, _ in found} == GOLDEN.keys()
    assert len({key for _, key in found}) == len(found) - 1, "only judging and rejudging share their prompts"
