"""A store with a judgment, a clash and a case, in which everything that a blind reviewer must not see is a marker."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from metajudge.cases.result import RESULT, CaseMetadata, CaseResult, CriterionResult, Quote, StageResult
from metajudge.clashes.record import ClashRecord
from metajudge.clashes.reviews import review_of_clash
from metajudge.judging.criteria import GENERIC
from metajudge.reviews.opening import review_of
from metajudge.reviews.review import Comment, HumanDecision, Outcome, PolicyUsed, Review
from metajudge.store import RunRecord, open_store
from metajudge.types import AgentResult, CriterionScore, SignalValue
from metajudge.types.decision import Decision, DecisionInputs
from tests.api.pages.filled_store import NOW, made_assessment, made_clash, made_judgment

JUDGE, FIRST, SECOND, AUTHOR, POLICY = (
    "judge-Slartibart",
    "cand-Zaphod",
    "cand-Trillian",
    "model-Marvin",
    "policy-Vogon",
)
PEOPLE = ("PEOPLE-22", "REMARK-11", "Bob")
SHARED = (JUDGE, POLICY, "REVIEW_PRIORITY", "3.731", "0.613", "0.0413", *PEOPLE)
MARKERS = {
    "judgment": (
        *SHARED,
        *(FIRST, SECOND, "RATIONALE-77", "INSTRUCTION-78", "agent-Ford", "model-Heart", "EXPLAINED-66", "0.617"),
        *("JUSTIFIED-55", "SIGNAL-54", f"{FIRST}>{SECOND}"),
    ),
    "clash": (JUDGE, FIRST, SECOND, f"model {JUDGE}", "REASON-88", "COMPARED-89", "accept: unanimous", *PEOPLE),
    "case": (
        *SHARED,
        *(
            "COMMENT-44",
            "said in QUOTE-45",
            "WEAKNESS-33",
            "REASONED-34",
            "TIP-35",
            "GATE-36",
            "4.125",
            "0.777",
            "not in the text",
        ),
    ),
}
"""Of each kind: what the full view shows and the blind one must not."""
READ = {
    "judgment": ("QUESTION-1", "ANSWER-2", "ANSWER-3", "REFERENCE-4"),
    "clash": ("QUESTION-1", "ANSWER-2", "ANSWER-3", GENERIC[0].name),
    "case": ("CONTEXT-5", "OUTPUT-6"),
}
"""Of each kind: what both views show."""


def judgment_review():
    """The judgment, its assessment and its review."""
    texts = {FIRST: f"ANSWER-2, says {FIRST}.", SECOND: "ANSWER-3, made by model-Marvin."}
    item = {"id": "i1", "question": "QUESTION-1?", "responses": texts, "reference": "REFERENCE-4", "category": "sums"}
    item |= {"models": {FIRST: AUTHOR, SECOND: AUTHOR}, "label": f"{FIRST}>{SECOND}"}
    judgment = made_judgment(
        1,
        judge=JUDGE,
        verdict=f"{FIRST}>{SECOND}",
        item=item,
        order=[FIRST, SECOND],
        rationale="RATIONALE-77: Assistant A is best.",
        instruction="INSTRUCTION-78",
    )
    criteria = {"accuracy": CriterionScore(score=3.0, explanation="EXPLAINED-66")}
    agent = AgentResult(agent="agent-Ford", model="model-Heart", weight=1.0, score=3.0, criteria=criteria)
    inputs = DecisionInputs(basis="score", value=3.731, confidence=0.613, confidence_rule="same_side")
    decision = Decision(
        action="REVIEW_PRIORITY",
        policy=POLICY,
        policy_digest="d" * 64,
        justification="JUSTIFIED-55",
        inputs=inputs,
        band=1,
        margin=0.0413,
    )
    found = {"final_score": 3.731, "accepted": False, "renormalised": False, "agents": (agent,), "probability": 0.617}
    signals = {"order": SignalValue(value=-1.0, state="disagree", detail="SIGNAL-54")}
    assessment = made_assessment(judgment, 1, signals=signals, decision=decision, calls=1, cost_usd=0.0, **found)
    return judgment, assessment, review_of(judgment, assessment, now=NOW, reviewers=2)


def clash_review():
    """A clash on which the judges agree."""
    rankings = {JUDGE: ((FIRST,), (SECOND,)), "judge-Two": ((FIRST,), (SECOND,)), "judge-Three": ((FIRST,), (SECOND,))}
    texts = {FIRST: f"ANSWER-2, says {FIRST}.", SECOND: "ANSWER-3."}
    record = made_clash("i2", rankings=rankings, texts=texts)
    data = record.model_dump(mode="json")
    data["question"] = "QUESTION-1?"
    for vote in data["votes"]:
        vote["comparison"] = "COMPARED-89"
        for scores in vote["scores"].values():
            for place, one in enumerate(scores.values()):
                one |= {"reason": "REASON-88", "score": 2 + place % 2}
    review = review_of_clash(ClashRecord.model_validate(data), now=NOW)
    return review.model_copy(update={"reviewers": 2})


def case_review(**changes):
    """A case with a judged stage and the whole result."""
    quotes = (Quote(quote="said in QUOTE-45", in_output=False, in_context=False),)
    criterion = CriterionResult(
        score=4.125, confidence=0.777, comment="COMMENT-44", evidence=quotes, weaknesses=("WEAKNESS-33",)
    )
    stage = StageResult(name="risk", criteria={"depth": criterion}, weighted_score=4.125, confidence_overall=0.777)
    inputs = DecisionInputs(basis="score", value=3.731, confidence=0.613, confidence_rule="cases:mean")
    decision = Decision(
        action="REVIEW_PRIORITY", policy=POLICY, policy_digest="d" * 64, justification="REASONED-34", inputs=inputs
    )
    metadata = CaseMetadata(
        judge_models={JUDGE: AUTHOR},
        evaluated_at="2026-01-01T00:00:00Z",
        weights_used="w",
        weights={"depth": 1.0},
        total_criteria_evaluated=1,
        rules={},
        policy=POLICY,
        policy_digest="d" * 64,
        rubric="r",
        rubric_digest="r" * 64,
        prompt_digest="q" * 64,
        case_digest="c" * 64,
        metajudge_version="0.1.0",
    )
    result = CaseResult(
        case_id="i3",
        type="risk",
        stages=(stage,),
        gate={"stage": "risk", "value": None, "step": "go_on", "missing": "GATE-36"},
        overall_quality_score=3.731,
        overall_confidence=0.613,
        action="REVIEW_PRIORITY",
        reasoning="REASONED-34",
        tips=("TIP-35",),
        decision=decision,
        metadata=metadata,
    )
    fields = {
        "review_id": "case-review",
        "subject": "case",
        "subject_id": "i3",
        "subject_digest": "e" * 64,
        "item_id": "i3",
        "judge": JUDGE,
        "category": "climate",
        "action": "REVIEW_PRIORITY",
        "margin": 0.0413,
        "policy": PolicyUsed(name=POLICY, digest="d" * 64),
        "score": 3.731,
        "confidence": 0.613,
        "opened_at": NOW,
        "reviewers": 2,
        "criteria": {"depth": 4.125},
        "scale": (0.0, 10.0),
        "content": {"risk": {"context": "CONTEXT-5", "output": "OUTPUT-6"}, RESULT: result.model_dump(mode="json")},
    }
    return Review(**fields | changes)


async def plant(path, *, blind=False):
    """Fills a store; returns kind -> the review's id.

    Args:
        blind: whether the reviews' policy wants blind decisions.
    """
    store = await open_store(path)
    judgment, assessment, about_judgment = judgment_review()
    found = {"judgment": about_judgment, "clash": clash_review(), "case": case_review()}
    found = {kind: review.model_copy(update={"blind": blind}) for kind, review in found.items()}
    await store.start_run(RunRecord("run-1", "vet", NOW, "running", {"panel": "default"}))
    await store.save_assessment("key", judgment, assessment, "run-1")
    await store.reviews.open(list(found.values()))
    for review in found.values():
        await say(store, review.review_id, "Bob", Outcome.CANNOT_TELL, "PEOPLE-22")
        comment = Comment(review_id=review.review_id, author="Bob", at=NOW, text="REMARK-11")
        await store.reviews.comment(comment)
    await store.close()
    return {kind: review.review_id for kind, review in found.items()}


async def say(store, review_id, reviewer, outcome, reason=""):
    """One more decision."""
    await store.reviews.claim(reviewer, now=NOW, review_id=review_id)
    made = HumanDecision(review_id=review_id, reviewer=reviewer, outcome=outcome, reason=reason, decided_at=NOW)
    await store.reviews.decide(made, now=NOW)


def run(made):
    """Runs a coroutine, also where a browser's loop is running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, made).result()


def in_store(path, what):
    """Runs a function of the open store."""

    async def main():
        store = await open_store(path)
        try:
            return await what(store)
        finally:
            await store.close()

    return run(main())
