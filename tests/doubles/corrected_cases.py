"""Cases that a scripted judge scored and people corrected, in a store."""

from metajudge.cases.run import judge_cases
from metajudge.decision import load_policy
from metajudge.providers.scripted import ScriptedModel
from metajudge.reviews.review import HumanDecision, PolicyUsed, Review
from metajudge.session import Session
from tests.doubles.cases import ANALYSIS, RELEVANCE, flood, reply

RISK = load_policy("risk_analysis")
USED = PolicyUsed(name=RISK.name, digest=RISK.digest)
REASON = "no follow-on effect is treated"


def _case(name, label):
    given = flood(name)
    stages = [one.model_copy(update={"output": f"{one.output_text} ({name})"}) for one in given.stages]
    return given.model_copy(update={"stages": tuple(stages), "label": label})


CASES = [_case(f"c{number:02}", number % 2 == 0) for number in range(36)]
CORRECTED = 30


def judge(name="judge", sees=True):
    """Scores completeness 8, and 5 once its instruction points to what people missed (if it ``sees``)."""

    def answer(request):
        names = ANALYSIS if "## completeness" in request.system else RELEVANCE
        scores = dict.fromkeys(names, (8, 0.85))
        if names is ANALYSIS and sees and REASON in request.system:
            scores["completeness"] = (5, 0.85)
        return reply(scores)

    return ScriptedModel(answer, name=name)


async def filled(where, model=None):
    """A store at a place with 36 reviewed cases, 30 of which people corrected."""
    async with Session([model or judge()], store=where) as session:
        await judge_cases(session, CASES)
        await session.store.reviews.import_decisions([_decided(*one) for one in enumerate(CASES)])


def _decided(number, case):
    fixed = {"outcome": "modify", "scores": {"completeness": 5}, "reason": REASON}
    said = fixed if number < CORRECTED else {"outcome": "reject"}
    review_id = Review.id_for(case.digest, USED)
    return HumanDecision(review_id=review_id, reviewer="ada", decided_at=2.0 + number, policy=USED, **said)
