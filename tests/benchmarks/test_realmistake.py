from metajudge.benchmarks import realmistake
from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.realmistake import SAYS_ERROR

from metajudge.types import Category, Item, Judgment


def judgment(number, model, verdict, prompt="prompt_1", label="error"):
    item = Item(id=f"r{number}", question=f"t{number}", responses={"A": "-"}, category="t", label=Category(label))
    return Judgment(
        id=f"{number}{model}{prompt}",
        item=item,
        judge=f"{model}/{prompt}",
        verdict=None if verdict is None else Category(verdict),
        no_verdict=None if verdict else "unread",
        meta={"judge_model": model, "judge_prompt": prompt},
    )


def accuracies(*judgments):
    return {one.judge: one for one in realmistake.accuracy(judgments, None)}


def test_an_unread_answer_is_wrong_and_a_models_line_covers_its_simple_prompts():
    found = accuracies(
        judgment(1, "m", "error"), judgment(1, "m", None, "prompt_2"), judgment(1, "m", "no_error", "cot_prompt")
    )
    line = found["m, simple prompts"]
    assert (line.cells[OVERALL].successes, line.cells[OVERALL].n) == (1, 2)
    assert (line.decided, line.without_verdict) == (1, 1)
    assert found["all models, cot_prompt"].cells[OVERALL].share == 0
    assert line.measures[SAYS_ERROR][OVERALL].share == 1


def test_a_tied_vote_of_the_models_does_not_count():
    found = accuracies(
        judgment(1, "m", "error"), judgment(1, "n", "no_error"),
        judgment(2, "m", "error"), judgment(2, "n", "error"), judgment(2, "o", "no_error"),
        judgment(3, "m", None),
    )["majority of the models, prompt_1"]  # fmt: skip
    assert (found.games, found.ties, found.cells[OVERALL].n, found.cells[OVERALL].share) == (3, 2, 1, 1.0)
