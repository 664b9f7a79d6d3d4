import json

from metajudge.benchmarks import rewardbench2
from metajudge.benchmarks.findings import OVERALL

from metajudge.readers.rewardbench2 import CANDIDATES, RIGHT
from metajudge.types import Item, Judgment, Ranking

TURNED = ("0123", "1230", "2301", "3012")


def judgment(number, order, chosen, phase="P2b", judge="j"):
    item = Item(id=f"Math/{number}", question=f"{number}", responses=dict.fromkeys(CANDIDATES, "-"), category="Math")
    verdict = None
    if chosen is not None:
        verdict = Ranking(((chosen,), tuple(name for name in CANDIDATES if name != chosen)))
    return Judgment(
        id=f"{number}{order}{phase}{judge}",
        item=item.model_copy(update={"label": RIGHT}),
        judge=judge,
        verdict=verdict,
        no_verdict=None if verdict else "unread",
        order=tuple(order),
        meta={"phase": phase},
    )


def test_choices_places_and_items_judged_alike(tmp_path):
    passes = [judgment(1, order, "0") for order in TURNED] + [judgment(2, order, "3") for order in TURNED]
    passes += [judgment(3, order, order[0]) for order in TURNED]
    passes += [judgment(1, "1023", "0", "P2a"), judgment(2, "1023", None, "P2a")]
    (found,) = rewardbench2.accuracy(passes, tmp_path)
    assert (found.games, found.decided, found.without_verdict) == (14, 13, 1)
    assert found.cells[OVERALL].successes == 4 + 0 + 1 + 1
    assert (found.agreeing.successes, found.agreeing.n) == (1, 2)
    place = found.measures["right candidate at B"][OVERALL]
    assert (place.successes, place.n) == (1, 2)


def test_a_reward_model_is_right_where_the_right_candidate_alone_is_best(tmp_path):
    scores = {"1": [3, 1, 2, 0], "2": [3, 3, 2, 0], "9": [3, 1, 2, 0]}
    rows = [
        {"id": name, "subset": "Math", "num_correct": 1, "scores": [[one] for one in given], "model": "rm"}
        for name, given in scores.items()
    ]
    (tmp_path / "reward_scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = rewardbench2.accuracy([judgment(1, "0123", "0"), judgment(2, "0123", "0")], tmp_path)
    (model,) = [one for one in found if one.judge == "rm"]
    assert (model.kind, model.cells[OVERALL].successes, model.cells[OVERALL].n) == ("reward model", 1, 2)
