"""Every prompt of the second set, as readable files in ``golden/v2``.

``python -m tests.prompts.second_set`` writes them anew. Read what changed before it is committed: a published set is not
edited, so a difference is only right while the set is being written.
"""

from dataclasses import replace
from pathlib import Path

from metajudge.prompts.judge import render_pairwise, render_pairwise_system
from metajudge.prompts.meta_judge import ROLES, Statement, render_repair, render_request, render_system
from metajudge.prompts.reply_form import ReplyForm
from metajudge.rubric import BUILTIN_RUBRICS, load_rubric, validate_rubric_text
from metajudge.types import Item
from tests.prompts.renderings import ITEM, OWN, judgment, score

FOLDER = Path(__file__).parent / "golden" / "v2"
THINKING = ReplyForm(analysis=True)
RATIONALE = "Assistant A adds correctly; Assistant B is off by one."
SPOKEN = [
    Statement(
        "gpt-4o",
        {"accuracy": score(5, "2 + 2 is 4, as the judge says."), "clarity": score(4, "It names the error.")},
        member=1,
    ),
    Statement("claude", {"accuracy": score(2, "The error of B is not shown."), "clarity": score(None)}, 2, own=True),
]
SHOWN = Statement(
    "gpt-4o", {"accuracy": score(5, "It adds correctly.")}, member=1, analysis="2 + 2 = 4, so A is right."
)
VOTES = [
    Statement("a", {"correct": score(5, "A is right.")}, member=1),
    Statement("b", {"correct": score(1, "B is right.")}, member=3),
]


def second_set():
    """File name without suffix -> text."""
    return {**_systems(), **_requests(), **_judging()}


def _systems():
    rubrics = {name: load_rubric(name, prompt_set=2) for name in BUILTIN_RUBRICS}
    rubrics["own"] = validate_rubric_text(OWN, "own")
    found = {}
    for name, rubric in rubrics.items():
        found[f"system-{name}"] = render_system(rubric, None, THINKING, version=2)
        found[f"system-{name}-verdict-alone"] = render_system(rubric, None, THINKING, verdict_alone=True, version=2)
    for name in ("short", "binary", "baseline"):
        for place in ("before", "after", "none"):
            form = ReplyForm(explanations=place)
            found[f"system-{name}-no-analysis-{place}"] = render_system(rubrics[name], None, form, version=2)
    for role in ROLES:
        found[f"system-baseline-{role}"] = render_system(rubrics["baseline"], role, THINKING, version=2)
    return found


def _requests():
    plain = judgment(rationale=RATIONALE)
    rubric, binary = load_rubric("short", prompt_set=2), load_rubric("binary", prompt_set=2)

    def request(given, rubric=rubric, **more):
        return render_request(given, rubric, version=2, **more)

    return {
        "request": request(plain),
        "request-no-rationale": request(judgment(rationale="")),
        "request-verdict-only": request(judgment(rationale="My final verdict is: [[A>>B]]")),
        "request-instruction-and-reference": request(judgment(instruction="Choose.", item={"reference": "4"})),
        "request-own-judge": request(judgment(instruction=render_pairwise_system())),
        "request-empty": request(judgment(item={"question": "", "reference": "", "responses": {"A": "", "B": "x"}})),
        "request-grade": request(judgment(item={"responses": {"r": "Four."}}, verdict=7)),
        "request-ranking": request(
            judgment(item={"responses": {"A": "x", "B": "y", "C": "z"}}, verdict=[["B"], ["A", "C"]])
        ),
        "discussion": request(plain, earlier=SPOKEN),
        "discussion-one-statement": request(plain, earlier=SPOKEN[:1]),
        "discussion-with-analysis": request(plain, earlier=[SHOWN]),
        "discussion-votes": request(plain, binary, earlier=VOTES),
        "summary": request(plain, earlier=[SPOKEN[0], replace(SPOKEN[1], own=False)], summarise=True),
        "repair": render_repair(["'clarity' is missing", "accuracy.score is 6"], version=2),
    }


def _judging():
    item = Item.model_validate({**ITEM, "reference": "4"})
    return {
        "pairwise-system": render_pairwise_system(2),
        "pairwise": render_pairwise(item, ("B", "A"), with_reference=True, version=2),
    }


def write():
    """Writes all files, and removes those of prompts that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.md"):
        old.unlink()
    for name, text in second_set().items():
        (FOLDER / f"{name}.md").write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    write()
