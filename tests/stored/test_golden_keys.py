"""Keys under which users have stored replies and results, as literals: a change of one of them asks models anew.

A literal here is never edited to make a test pass. If a key has to change, stored data must be found under the old one.
"""

import importlib

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
from metajudge.readers.questions import Question
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


GOLDEN = {
    "panel single": "37472f1bca29101de987d92c4387d48e",
    "assessment single": "0fbc880c4c1ae5a28df825a23ccaa1b9",
    "panel single baseline": "49bb609d05324ba0c82eba91dfb6d019",
    "assessment single baseline": "940949dd75234067de641707aece0577",
    "panel vote": "0cee8d571dfbd99534326f83241b3d8f",
    "assessment vote": "62ec5b7aed184dbfa1470e58b0a7e30f",
    "panel average": "0f18d3f39d9509ed1cd68086cd9242e6",
    "assessment average": "49b6856ec467f02e880740d48759c080",
    "panel discussion": "e4b3ea701fca5e020e2a5c6d052a96bd",
    "assessment discussion": "abca765b3bc28a2e8b53885b8368b3a5",
    "panel rejudge": "fcb22121902c7a425f7eb7d4d40d4810",
    "assessment rejudge": "4200127395b13bd814a1596f784e119f",
    "panel signals": "a5a137fcb3682de0b6a732a754d9ea53",
    "assessment signals": "86d2ee3fcbc2b5eaa5089a91811f331b",
    "panel draws": "c3bbabf254220e22a12d386732e6b541",
    "assessment draws": "da8547dbd7b098ce7c8b250ea7045a32",
    "panel other address": "e0de877c0fef951170b6c9f9f73a6a01",
    "assessment other address": "7820893f6f2e4db4c9f7013d16439e07",
    "panel routes": "e8caa04c026f1f23c2021f8e231eb5ca",
    "assessment routes": "b7412a5dc4eb04115b0202df8c440cb6",
    "panel of a route": "ff91e1526a0de272173002c0c1754a2c",
    "assessment of a route": "4b742e495b1864473011a664c3e3605c",
    "judgment": "fd0d83549d004967eca04e594c4ec3db",
    "judgment as vetted": "cc14163d4ae17fd64dc9ed4f408e7382",
    "call openai text": "c6b2409505062e1866cfd5c1f9e9946a",
    "call openai json": "fb518566365a9066300392a30b091ea7",
    "call anthropic text": "2d4aa8d048df41303328dbd1cbfbc8d1",
    "call anthropic json": "2b21d28a29ebe2c0d41195458382a0b3",
    "call other text": "ebeef6db28f1976bbc259f2627d03b27",
    "call other json": "5446f895f4ccc4ccf28497b539392f79",
    "call vet single": "310ba37a6f42b13eb05108741933a084",
    "call vet single baseline": "728a4b8d26fe255536a8a5e33b88aef3",
    "call vet vote": "9a54d4a4b9c8d5c8914210105f55999c",
    "call vet draws": "26b62dd2be01321ad16de83f67fde989",
    "call vet critic": "83d3fbb3161b9e60d22ba5356e3ff69f",
    "call vet discussion": "39e951a11dd7de99855cdb9e83a8b139",
    "call vet summary": "8ffd78d8f19df8bb8b2fc0a8ba83ca07",
    "call judge": "1c65a9df1711afbb1c044bd9f97547ff",
    "call judge reversed": "c478a009999cc475883e16965e386610",
    "call grade": "93a552c55d7f1741357b33499f62a59d",
    "call case relevance_check": "f2d7ca9e0e8c1df18250e69fc82fb6ae",
    "call case risk_analysis": "96cc690ad2e71f8d5e9fda133c3feb4e",
    "call rank": "2aebccaa5780a260a147dbc8292d0c22",
    "call rank with ties": "441939d8f250587ba50e615eacf48fa8",
    "call criteria": "157d79032c23e7c3bc1721cb3b479d46",
    "clash given": "889a99bd166b8dc9218ff5be250246c5",
    "clash given, second repeat": "45ae939b567976566229e0c900c47913",
    "clash generated": "5bf36f26c39148c4e6b3847bd6856678",
    "peers answer": "b0e23d1ff76147d7ccc39e7741970323",
    "peers ballot": "ccd563c1925100b2490704502ae5ba17",
    "job": "2e7b4e20d8f06227ebbfb3cc95daf45698fe4324503f9a3ac8f4e741ef22820c",
    "job by default": "6213772cdd6f0b70f9d1bcdc1c2c33d94191d77b1edc6beff6b39a98ef548432",
    "prompts case": "b0c627cecc0539332e2ee67e230b362c",
    "prompts criteria": "2cb46d1eb7ea49bd67b6059301fad15a",
    "prompts grading": "1fa176a36f66fac2bee4d762184d7aa1",
    "prompts judge": "c7d9cbc9b85473dcebdadc9bfc14dc30",
    "prompts meta_judge": "09b10bd78a82b69c708c158920d4f734",
    "prompts ranking": "5d803b3d594e0cf16f0f1ff5e6d12449",
    "prompts refining": "67410523bceecce13c226d5266552a73",
    "prompts of a panel, single": "2372b0c84a2b140f4943865a121794da",
    "prompts of a panel, rejudge": "c7d9cbc9b85473dcebdadc9bfc14dc30",
    "rubric short": "4eb959e65059829dd0a141863ff8cee2",
    "rubric long": "66feb7b6e8dd9f0aa8f281cf06b5f5e7",
    "rubric binary": "4e4c49b85292ebd6096961184bc25a74",
    "rubric baseline": "2256a77be76924bd0c376f48ba01f023",
    "policy verdict": "65e8f1550785c4be7e52bad476740ab9",
    "policy verdict_score": "e85212c6924cf0a1f02e56c6d550ce3c",
    "policy risk_analysis": "88bc21282d14991163ebf9b095f0ed19",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_key_is_what_it_was(name):
    assert dict(all_keys())[name] == GOLDEN[name]


def test_every_key_has_its_literal():
    found = list(all_keys())
    assert {name for name, _ in found} == GOLDEN.keys()
    assert len({key for _, key in found}) == len(found) - 1, "only judging and rejudging share their prompts"
