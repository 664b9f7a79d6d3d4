"""Which rows come of which judgments, and what is dropped with which reason: a case a line of the table."""

import pytest

from metajudge.errors import InputError
from tests.exports.vetted import assessment, bar, dropped, exported, judgment, single

LONG = "The tide turns twice a day because the moon pulls on the sea. " * 8
SAME = {"question": "What is a fjord?", "responses": {"A": "A drowned valley.", "B": "A kind of boat."}}
THREE = {"x": "An answer in full.", "y": "Half an answer, perhaps.", "z": "No answer, sadly."}
FOUR = {**THREE, "u": "Off the point!"}
BASE = "Describe how a steam locomotive turns heat into motion on a long mountain railway line"
STEAM = {"A": "Water boils, steam pushes pistons, rods turn the driving wheels.", "B": "By magic, and by coal."}
SCALE = ("poor", "fair", "good")
ALL, GUARANTEE = {"rule": "all"}, {"rule": "guarantee", "target": 0.9, "delta": 0.1}
JUDGES = {"kind": "judgments"}
UNSURE = [judgment(0, judge="t", verdict="A=B"), judgment(0, judge="s", verdict=None), judgment(0, judge="u")]


def said(*verdicts, number=0):
    """Verdicts on one item, each by a judge of its own."""
    return [judgment(number, judge=f"j{place}", verdict=verdict) for place, verdict in enumerate(verdicts)]


CASES = {
    "what vetting did not accept never becomes a pair": (
        [judgment(0), judgment(1, verdict="B>A")], [{}, {"accepted": False}], {},
        "item_id", ["item-0"], {"discarded": 1},
    ),
    "the preferred response is chosen in either order": (
        [judgment(0, verdict="A>B"), judgment(1, verdict="B>>A", order=("B", "A"))], None, {},
        "chosen_id margin strength", [("A", 1, 1), ("B", 2, 2)], {},
    ),
    "unanimous drops orders and judges that conflict": (
        [judgment(0), judgment(0, order=("B", "A")), judgment(1), judgment(1, order=("B", "A"), verdict="B>A"),
         *said("A>B", "B>A", number=2), judgment(3, verdict="A=B"), *said("A>B", "A=B", number=4)], None, {},
        "item_id votes", [("item-0", 2)], {"tie": 1, "order_conflict": 1, "judge_conflict": 2},
    ),
    "majority counts judges, not verdicts": (
        [*(judgment(0, order=order, verdict="B>A") for order in (("A", "B"), ("B", "A"))),
         *(judgment(0, judge=name, verdict="A>>B") for name in ("jay", "wren")), *said("A>B", "B>A", number=1)],
        None, {"reconcile": "majority"},
        "item_id chosen_id judge margin", [("item-0", "A", "jay, wren", 0.5)], {"judge_conflict": 1},
    ),
    "a ranking gives a pair for every two groups": (
        [judgment(0, verdict=[["x"], ["y", "z"], ["u"]], responses=FOUR, order=tuple(FOUR))], None, {},
        "chosen_id rejected_id", {("x", "y"), ("x", "z"), ("x", "u"), ("y", "u"), ("z", "u")}, {"tie": 1},
    ),
    "in kto a response that won and lost is dropped": (
        [judgment(0, verdict=[["x"], ["y"], ["z"]], responses=THREE, order=tuple(THREE))], None, {"format": "kto"},
        "completion label", {(THREE["x"], True), (THREE["z"], False)}, {"won_and_lost": 1},
    ),
    "the lowest probability of the agreeing verdicts stands for the pair": (
        [judgment(0), judgment(0, order=("B", "A"))], [{"probability": 0.9}, {"probability": 0.7}], {},
        "probability agents judgments", [(0.7, "wren (wren-1)", ["item-0/owl/AB", "item-0/owl/BA"])], {},
    ),
    "only kept grades make pairs, and judges are not compared with each other": (
        [single(0, 3), single(1, 8), single(2, 9), single(0, 1, judge="jay"), single(2, 2, judge="wren")],
        [{}, {"accepted": False}, {}, {}, {}], {},
        "chosen_id rejected_id margin", [("item-2", "item-0", 6.0)], {"discarded": 1, "only_graded_response": 2},
    ),
    "grades of one item's responses are pairs, and repeats count as their mean": (
        [judgment(0, verdict=grade, order=(name,), id=f"{name}{grade}") for grade, name in ((4, "A"), (6, "A"), (8, "B"))],
        None, {"format": "ultrafeedback"},
        "chosen_id rejected_id margin score_chosen score_rejected", [("B", "A", 3.0, 8.0, 5.0)], {},
    ),
    "categories are ordered by pass and fail or by the declared scale": (
        [single(0, True), single(1, "fail"), single(2, "poor", question="Q", scale=SCALE),
         single(3, "good", question="Q", scale=SCALE), single(4, "[blue", question="R"),
         single(5, {"category": "a=b"}, question="R")], None, {},
        "chosen_id rejected_id margin", [("item-0", "item-1", 1.0), ("item-3", "item-2", 2.0)], {"no_order": 2},
    ),
    "comparisons are taken before grades": (
        [judgment(0), single(1, 3), single(2, 8)], None, {}, "item_id", ["item-0"], {"single_response": 2},
    ),
    "grades are taken before comparisons where asked": (
        [judgment(0), single(1, 3), single(2, 8)], None, {"from_grades": True},
        "chosen_id rejected_id margin", [("item-2", "item-1", 5.0)], {"comparison": 1},
    ),
    "categories and grades over a pass mark say what is desired": (
        [single(0, "pass"), single(1, False), single(2, 7.0), single(3, 6.9), single(4, "blue"), single(5, True),
         single(5, False, judge="jay")], None, {"format": "kto", "pass_mark": 7},
        "item_id label completion",
        [(f"item-{n}", n % 2 == 0, f"Answer number {n}, in so many words.") for n in range(4)],
        {"neither_pass_nor_fail": 1, "judge_conflict": 1},
    ),
    "the majority of judges says what passes": (
        [single(0, True), single(0, True, judge="jay"), single(0, False, judge="wren")], None,
        {"format": "kto", "reconcile": "majority"}, "label votes judge", [(True, 3, "jay, owl")], {},
    ),
    "without a pass mark grades are desired or not as in their pairs": (
        [single(0, 3), single(1, 8)], None, {"format": "kto"},
        "chosen_id label", {("item-0", False), ("item-1", True)}, {},
    ),
    "truncation that the provider reported counts however the text ends": (
        [judgment(0, meta={"response_finish": {"B": "length"}}), judgment(1, meta={"response_finish": {"B": "stop"}})],
        None, {}, "item_id", ["item-1"], {"truncated": 1},
    ),
    "truncated texts are kept where asked": (
        [judgment(0, meta={"response_finish": {"B": "length"}})], None, {"truncation": "keep"}, "item_id", ["item-0"], {},
    ),
    "exact duplicates are always removed and the most probable stays": (
        [judgment(number, **SAME) for number in range(3)], [{"probability": value} for value in (0.6, 0.9, 0.7)], {},
        "item_id", ["item-1"], {"exact_duplicate": 2},
    ),
    "pairs that contradict each other are both dropped": (
        [judgment(0, **SAME), judgment(1, verdict="B>A", **SAME), judgment(2)], None, {},
        "item_id", ["item-2"], {"contradiction": 2},
    ),
    "near duplicates stay unless asked": (
        [judgment(0, question=BASE, responses=STEAM), judgment(1, question=BASE + " please", responses=STEAM)], None, {},
        "item_id", ["item-0", "item-1"], {},
    ),
    "near duplicates go where asked": (
        [judgment(0, question=BASE, responses=STEAM), judgment(1, question=BASE + " please",
         responses={**STEAM, "A": STEAM["A"] + " Simple!"}), judgment(2)], None, {"dedupe": True},
        "question", {BASE, judgment(2).item.question}, {"near_duplicate": 1},
    ),
    "a minimum probability keeps from the bound on": (
        [judgment(number) for number in range(4)],
        [{"accepted": False, "probability": value} for value in (0.8, 0.799, 0.95, None)],
        {"selection": {"rule": "min_probability", "min_probability": 0.8}},
        "item_id", ["item-0", "item-2"], {"below_min_probability": 1, "no_probability": 1},
    ),
    "a guarantee keeps exactly what reaches its threshold": (
        [judgment(number) for number in range(4)],
        [{"probability": 0.8, "guarantee": bar(0.8)}, {"probability": 0.8 - 1e-7, "guarantee": bar(0.8)},
         {"probability": 0.99, "guarantee": bar(0.8, target=0.7)}, {"probability": 0.99}], {"selection": GUARANTEE},
        "item_id", ["item-0"], {"below_guaranteed_threshold": 1, "no_guarantee": 2},
    ),
    "judge pairs by label choose right over wrong whatever vetting said": (
        [judgment(0, label="A>B"), judgment(0, judge="jay", verdict="B>A", label="A>B"), judgment(1)],
        [{"accepted": False}] * 3, {**JUDGES, "by_label": True, "selection": ALL},
        "chosen_id rejected_id", [("item-0/owl/AB", "item-0/jay/AB")], {"no_label": 1},
    ),
    "ties, unanswered and unscored judgments take no part in judge pairs": (
        [judgment(0), judgment(0, judge="wren", verdict="B>A"), *UNSURE],
        [{}, {"accepted": False}, {}, {"accepted": None, "status": "failed"}, {"accepted": None, "status": "unscored"}],
        JUDGES, "judge", ["owl over wren"], {"tie": 1, "no_verdict": 1, "asked": 1, "discarded": 1},
    ),
    "a text that was kept here and discarded there is no lesson": (
        [*(judgment(0, judge=name, rationale="A is better.") for name in ("owl", "jay")), judgment(1)],
        [{}, {"accepted": False}, {"accepted": False}], {**JUDGES, "format": "kto"},
        "item_id", ["item-1"], {"contradiction": 2, "discarded": 2},
    ),
    "a file's assessments carry the policy's action": (
        [judgment(number) for number in range(3)],
        [{"action": "REJECT"}, {"action": "APPROVE", "accepted": False}, {"action": "REVIEW"}], {},
        "item_id kept_by", [("item-1", "policy")], {"rejected_by_policy": 1, "waiting_for_review": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_rows_and_reasons(tmp_path, case):
    judgments, changes, options, columns, expected, reasons = CASES[case]
    vetted = [
        assessment(one, **change) for one, change in zip(judgments, changes or [{}] * len(judgments), strict=True)
    ]
    result, rows = exported(tmp_path / "d", judgments, vetted, **options)
    found = [tuple(row[name] for name in columns.split()) for row in rows]
    found = [row[0] for row in found] if " " not in columns else found
    assert (set(found) if isinstance(expected, set) else found) == expected
    assert len(found) == len(expected)
    assert dropped(result) == reasons


@pytest.mark.parametrize("reconcile", ["unanimous", "majority"])
def test_swapping_the_ids_of_the_responses_changes_nothing_but_the_ids(tmp_path, reconcile):
    names = {"A": "B", "B": "A"}

    def swapped(one):
        responses = {names[name]: text for name, text in one.item.responses.items()}
        item = one.item.model_copy(update={"responses": responses})
        order = tuple(names[name] for name in one.order)
        return one.model_copy(update={"item": item, "verdict": one.verdict.relabelled(names), "order": order})

    verdicts = ["A>B", "A>>B", "B>A", "A=B", "B>>A", "A>B", "A>B", "B>A", "A>B", "A=B", "B>A", "A>B"]
    judgments = [
        judgment(number % 5, judge=f"judge-{number // 5}", verdict=said) for number, said in enumerate(verdicts)
    ]
    _, plain = exported(tmp_path / "plain", judgments, reconcile=reconcile)
    _, other = exported(tmp_path / "other", [swapped(one) for one in judgments], reconcile=reconcile)
    assert [(row["chosen"], row["rejected"], row["margin"]) for row in plain] == [
        (row["chosen"], row["rejected"], row["margin"]) for row in other
    ]


def test_items_with_one_response_alone_are_an_error(tmp_path):
    graded = judgment(1, verdict=4.0, responses={"A": "The only answer."}, order=("A",))
    with pytest.raises(InputError, match="Grades make pairs of responses to the same question"):
        exported(tmp_path / "e", [graded])
    assert not (tmp_path / "e").exists()
    assert not list(tmp_path.glob(".*partial"))
