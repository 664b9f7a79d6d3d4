"""A store full of made-up judgments, assessments and reviews; every text in it tries to be more than text."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from metajudge.clashes.record import ClashRecord, JudgeVote
from metajudge.clashes.tally import Voter, tally
from metajudge.errors import FailureKind
from metajudge.judging.answers import CandidateAnswer
from metajudge.judging.criteria import GENERIC, CriteriaSet
from metajudge.judging.ranking_replies import Score
from metajudge.reviews.opening import review_of
from metajudge.reviews.review import PolicyUsed, Review
from metajudge.store import RunRecord, open_store
from metajudge.types import AgentResult, Assessment, CriterionScore, Failure, Judgment, Ranking, SignalValue, Status
from metajudge.types.decision import Decision, DecisionInputs

NOW = 1_790_000_000.0
SCRIPT = "<script>window.attacked = true</script><img src=x onerror='window.attacked = true'>"
POLICY = PolicyUsed(name="verdict_score", digest="d" * 64)
ACTIONS = ("REVIEW", "REVIEW_PRIORITY", "APPROVE", "REJECT")
CRITERIA = ("accuracy", "logical_soundness", "completeness", "clarity")
QUESTION = "A train leaves at 9:40 and arrives at 11:05. **How long** does it take?"
RIGHT = "From 9:40 to 10:40 is one hour, and from there to 11:05 are 25 minutes.\n\n- So it takes **1 h 25 min**."
WRONG = "11:05 minus 9:40 is 1.65, so the journey takes about 1.65 hours.\n\n```python\nprint(11.05 - 9.40)\n```"


def made_judgment(number, *, judge="owl-large", question=QUESTION, responses=None, rationale=None, **changes):
    """A judgment whose winner alternates."""
    return Judgment.model_validate(
        {
            "id": f"j{number}/{judge.split()[0]}",  # ids often name the judge
            "item": {
                "id": f"item-{number}",
                "question": f"{question} ({number})",
                "responses": responses or {"A": RIGHT, "B": WRONG},
                "category": "math" if number % 2 else "reasoning",
                "label": "A>B",
            },
            "judge": judge,
            "verdict": "A>B" if number % 3 else "B>A",
            "rationale": rationale
            or "Assistant A adds hours and minutes *separately*; assistant B treats them as decimals.",
            "order": ["A", "B"] if number % 2 else ["B", "A"],
            **changes,
        }
    )


def made_agent(name, model, scores, **changes):
    """An agent that scored, or failed."""
    criteria = {
        one: CriterionScore(score=score, explanation=f"{name} on {one}: the steps are checked one by one.")
        for one, score in zip(CRITERIA, scores, strict=True)
    }
    mean = sum(scores) / len(scores)
    return AgentResult(
        **{"agent": name, "model": model, "weight": 0.5, "score": mean, "criteria": criteria, "calls": 1, **changes}
    )


def made_assessment(judgment, number, **changes):
    """What two agents and one that failed said, and what a policy decided."""
    action = ACTIONS[number % len(ACTIONS)]
    agents = (
        made_agent("strict", "fox-2", (2.0, 3.0, 4.0, 4.0), cost_usd=0.0021),
        made_agent("kind", "bear-1", (5.0, 4.0, 4.0, 5.0), cost_usd=0.0004),
        AgentResult(
            agent="late",
            model="snail-1",
            weight=0.5,
            failure=Failure(kind=FailureKind.TIMEOUT, message="no reply within 60 s"),
        ),
    )
    score = 1 + (number * 7 % 40) / 10
    return Assessment(
        **{
            "judgment_id": judgment.id,
            "item_id": judgment.item.id,
            "judge": judgment.judge,
            "status": Status.ASSESSED,
            "final_score": score,
            "accepted": score > 4.5,
            "renormalised": True,
            "agents": agents,
            "signals": {
                "order": SignalValue(value=-1.0, state="disagree", detail="other order: B>A"),
                "strength": SignalValue(value=1.0, state="plain", detail="verdict A>B"),
                "peers": SignalValue(
                    value=None, state="no_peers", detail="no other judge gave a comparable verdict on this item"
                ),
            },
            "probability": round(0.3 + (number * 13 % 60) / 100, 3),
            "calibrated": True,
            "decision": Decision(
                action=action,
                policy=POLICY.name,
                policy_digest=POLICY.digest,
                justification="doubtful: the score is in the middle band",
                inputs=DecisionInputs(basis="score", value=score, confidence=0.6, confidence_rule="same_side"),
                band=1,
                margin=0.05 + number / 100,
            ),
            "strategy": "weighted_average",
            "threshold": 4.5,
            "category": judgment.item.category,
            "rubric": "short",
            "panel_digest": "p" * 64,
            "judgment_digest": judgment.digest,
            "calls": 3,
            "cost_usd": 0.0025,
            "metajudge_version": "0.1.0",
            **changes,
        }
    )


def hostile_judgment(number=664):
    """Every text that somebody else may write holds a script."""
    return made_judgment(
        number,
        judge=f"judge {SCRIPT}",
        question=f"# Question {SCRIPT} [click](javascript:alert(1)) ![pixel](http://example.invalid/p.png)",
        responses={"A": f"Response {SCRIPT}", "B": f"```\n{SCRIPT}\n```\n<style>body{{display:none}}</style>"},
        rationale=f"Rationale {SCRIPT}\n\n<svg onload='window.attacked = true'>",
    )


def hostile_assessment(judgment, number=664):
    """Agents, models, explanations, failures and signals hold scripts."""
    agents = (
        made_agent(f"agent {SCRIPT}", f"model {SCRIPT}", (1.0, 2.0, 3.0, 4.0)),
        AgentResult(
            agent="b", model="m", weight=0.5, failure=Failure(kind=FailureKind.BAD_REPLY, message=f"got {SCRIPT}")
        ),
    )
    criteria = {"accuracy": CriterionScore(score=2.0, explanation=f"because {SCRIPT}")}
    agents = (agents[0].model_copy(update={"criteria": criteria}), agents[1])
    signals = {"order": SignalValue(value=1.0, state="agree", detail=f"detail {SCRIPT}")}
    return made_assessment(judgment, number, agents=agents, signals=signals)


def case_review():
    """A review of a case, which carries its own content."""
    return Review(
        review_id="c" * 16,
        subject="case",
        subject_id="case-1",
        subject_digest="e" * 64,
        item_id="case-1",
        judge="owl-large",
        category="climate",
        action="REVIEW",
        margin=0.2,
        policy=PolicyUsed(name="case_analysis", digest="f" * 64),
        score=7.4,
        confidence=0.82,
        opened_at=NOW,
        criteria={"accuracy": 7.0, "clarity": 8.0},
        scale=(0.0, 10.0),
        content={
            "relevance_check": {"context": {"event": "a drought"}, "output": {"relevant": True}},
            "risk_analysis": {"context": None, "output": f"Yields fall by a tenth. {SCRIPT}"},
        },
    )


def made_clash(id="q1", *, rankings=None, texts=None, hostile=False):
    """An evaluation of three answers by three judges, one of which failed, and an observer."""
    bad = f" {SCRIPT}" if hostile else ""
    texts = texts or {"fox-2": f"Paris, says FOX-2.{bad}", "bear-1": "Lyon.", "owl": "It is **Paris**, on the Seine."}
    rankings = rankings or {
        "j1": (("fox-2",), ("owl",), ("bear-1",)),
        "j2": (("owl",), ("fox-2",), ("bear-1",)),
        "j3": None,
    }
    order = tuple(texts)
    votes = [
        JudgeVote(
            judge=judge,
            model=f"model {judge}",
            endpoint="openai",
            role="panel",
            weight=1.0,
            label_map={f"A{place}": name for place, name in enumerate(order)},
            order=order,
            ranking=None if groups is None else Ranking(groups),
            scores={}
            if groups is None
            else {
                name: {one.key: Score(score=3 + (name == "owl"), reason=f"short{bad}") for one in GENERIC}
                for name in texts
            },
            comparison=f"A0 names the right city.{bad}",
            failure=Failure(kind=FailureKind.TIMEOUT, message=f"no reply{bad}") if groups is None else None,
        )
        for judge, groups in rankings.items()
    ]
    observer = votes[0].model_copy(update={"judge": "candidate:owl", "role": "observer", "weight": None, "own": "owl"})
    given = {judge: None if groups is None else Ranking(groups) for judge, groups in rankings.items()}
    counted = tally(list(texts), [Voter(judge) for judge in rankings], given)
    return ClashRecord(
        id=id,
        key=f"key of {id}",
        evaluation=f"{id}/c1/r1",
        item_id=id,
        seed=7,
        category="geography",
        question=f"Which city is the capital of France?{bad}",
        status=counted.status,
        winner=counted.winner,
        tied=counted.tied,
        why=counted.why,
        candidates=tuple(
            CandidateAnswer(
                name=name,
                source="generated",
                text=text,
                text_digest="t",
                hidden_names=("FOX-2",) if name == "fox-2" else (),
                cost_usd=0.001,
                latency_s=0.8,
            )
            for name, text in texts.items()
        ),
        criteria=CriteriaSet(criteria=GENERIC, source="generic"),
        panel=tuple(rankings),
        votes=(*votes, observer),
        tally=counted,
        metajudge_version="0.1.0",
    )


async def _fill(path, count, hostile, cases, reviewers):
    store = await open_store(path)
    try:
        await store.start_run(RunRecord("run-1", "vet", NOW, "running", {"panel": "default"}))
        pairs = [(one := made_judgment(number), made_assessment(one, number)) for number in range(count)]
        if hostile:
            one = hostile_judgment()
            pairs.append((one, hostile_assessment(one)))
        reviews = [case_review()] if cases else []
        for index, (judgment, assessment) in enumerate(pairs):
            await store.save_assessment(f"key-{judgment.id}", judgment, assessment, "run-1")
            found = review_of(judgment, assessment, now=NOW + index, scale=(1, 5), reviewers=reviewers)
            if found is not None:
                reviews.append(found)
        await store.reviews.open(reviews)
        await store.finish_run("run-1", "finished", NOW + 60, {"assessed": len(pairs)})
    finally:
        await store.close()
    return [one.review_id for one in reviews]


def fill(path, count=12, *, hostile=False, cases=True, reviewers=1):
    """Fills the store at a path; returns the ids of its reviews."""
    with ThreadPoolExecutor(1) as thread:  # playwright keeps a loop of its own running in the test's thread
        return thread.submit(asyncio.run, _fill(path, count, hostile, cases, reviewers)).result()
