"""A verdict alone is told from a rationale by rule."""

import gzip
import json
import os
from pathlib import Path

import pytest

from metajudge.prompts.reasons import gives_reasons
from tests.prompts.renderings import judgment

DATA = os.environ.get("METAJUDGE_DATA")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "[[A>>B]]",
        "My final verdict is: [[A>>B]]",
        "**My Final Verdict is:** Assistant A is slightly better: [[A>B]].",
        "My final verdict is tie: [[A=B]]",
        "Response B is significantly better.",
        "Therefore, the better answer is B.",
        "---\n***",
        "Score: 7",
        "7 out of 10",
        "[shown A then B] A is better: [[A>B]]\n\n[shown B then A] ",
        "Both are equally good.",
    ],
)
def test_a_stated_verdict_gives_no_reasons(text):
    assert not gives_reasons(judgment(rationale=text))


@pytest.mark.parametrize(
    "text",
    [
        "A adds correctly. [[A>>B]]",
        "Assistant B misreads the question.",
        "Both are wrong.",
        "B has a bug in line 3.",
        "回答A更好,因为它算对了。",
        "[[a long bracket is no mark, because it explains that A is right]]",
    ],
)
def test_whatever_else_is_said_is_a_reason(text):
    assert gives_reasons(judgment(rationale=text))


def test_labels_and_the_words_of_the_verdict_are_no_reasons():
    assert not gives_reasons(judgment(rationale="Answer North is better.", labels=["North", "South"]))
    assert gives_reasons(judgment(rationale="Answer North is better."))
    long = ["The one that adds correctly", "South"]
    assert gives_reasons(judgment(rationale="It adds correctly.", labels=long))
    one = {"responses": {"r": "Four."}, "scale": ["fail", "pass"]}
    assert not gives_reasons(judgment(item=one, verdict="pass", rationale="Verdict: pass"))
    assert gives_reasons(judgment(item=one, verdict="fail", rationale="Verdict: pass"))


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="METAJUDGE_DATA names no folder with recorded judgments")
def test_recorded_judgments_are_told_apart_as_their_authors_did():
    """JudgeBench marks texts of under 20 words as lacking an explanation; nearly all of those state a verdict alone."""
    decided = alone = unmarked = 0
    with gzip.open(Path(DATA) / "judgebench" / "judgments.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["decision"] is None:
                continue
            decided += 1
            found = gives_reasons(judgment(rationale=row["judgment_text"] or "", verdict=row["decision"]))
            alone += not found
            unmarked += not row["has_explanation"]
            assert found or not row["has_explanation"]
    assert (decided, alone, unmarked) == (2593, 608, 627)
