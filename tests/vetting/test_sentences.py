"""A run in sentences: failures with their cause, unscored apart from failed, and no "no model was asked" after calls."""

from metajudge.errors import FailureKind
from metajudge.types import AgentResult, Assessment, Failure, Status
from metajudge.vetting.sentences import cost_lines, without_score
from metajudge.vetting.summary import VetSummary

REFUSED = "no connection for m at http://127.0.0.1:9: [Errno 111] (gave up after 6 attempts in {:.1f} s)"


def ended(number, status, kind, message, *, agents=True):
    failure = Failure(kind=kind, message=message)
    asked = AgentResult(agent="a", model="openai:m", weight=1.0, failure=failure)
    return Assessment(
        judgment_id=f"j{number}",
        item_id="i",
        judge="g",
        status=status,
        failure=failure,
        agents=(asked,) if agents else (),
        strategy="single",
        threshold=4.5,
        panel_digest="p",
        judgment_digest=f"d{number}",
        metajudge_version="0",
    )


def test_each_row_has_its_own_reasons_and_the_cause_once_whatever_the_attempts_took():
    summary = VetSummary()
    for number in range(3):
        found = ended(number, Status.FAILED, FailureKind.CONNECTION, REFUSED.format(number + 0.5))
        summary.add(found, reused=False)
    summary.add(ended(3, Status.UNSCORED, FailureKind.BAD_REPLY, "no score for accuracy"), reused=False)
    summary.add(
        ended(4, Status.FAILED, FailureKind.NO_VERDICT, "the judge gave no verdict", agents=False), reused=False
    )
    rows = {name: (count, why) for name, count, why in without_score(summary)}
    assert rows == {
        "unscored": (1, "too few valid answers for a decision: 1 bad reply (no score for accuracy)"),
        "failed": (3, "3 connection (no connection for m at http://127.0.0.1:9: [Errno 111])"),
        "no verdict": (1, "the judge gave none: nothing to vet"),
    }


def test_failed_calls_are_calls():
    assert "No model was asked." in cost_lines(VetSummary())[1]
    said = cost_lines(VetSummary(failed_calls=24))[1]
    assert said.startswith("No model answered: 24 calls failed.")
