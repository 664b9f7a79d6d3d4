"""Response pairs: what is preferred, and how several verdicts become one."""

import pytest

from tests.preferences.vetted import assessment, dropped, exported, judgment


def test_the_response_the_kept_verdict_prefers_is_chosen_in_either_order(tmp_path):
    judgments = [judgment(0, verdict="A>B"), judgment(1, verdict="B>>A", order=("B", "A"))]
    result, rows = exported(tmp_path / "d", judgments)
    assert [row["chosen_id"] for row in rows] == ["A", "B"]
    assert [row["chosen"] for row in rows] == [judgments[0].item.responses["A"], judgments[1].item.responses["B"]]
    assert [row["rejected"] for row in rows] == [judgments[0].item.responses["B"], judgments[1].item.responses["A"]]
    assert [(row["margin"], row["strength"]) for row in rows] == [(1, 1), (2, 2)]
    assert result.rows == {"train": 2}


def test_what_vetting_did_not_accept_never_becomes_a_pair(tmp_path):
    judgments = [judgment(0), judgment(1, verdict="B>A")]
    result, rows = exported(tmp_path / "d", judgments, [assessment(judgments[0]), assessment(judgments[1], False)])
    assert [row["item_id"] for row in rows] == ["item-0"]
    assert dropped(result) == {"discarded": 1}


def test_unanimous_drops_orders_and_judges_that_conflict_and_counts_them(tmp_path):
    judgments = [
        judgment(0),
        judgment(0, order=("B", "A")),
        judgment(1),
        judgment(1, order=("B", "A"), verdict="B>A"),
        judgment(2),
        judgment(2, judge="jay", verdict="B>A"),
        judgment(3, verdict="A=B"),
        judgment(4),
        judgment(4, judge="jay", verdict="A=B"),
    ]
    result, rows = exported(tmp_path / "d", judgments)
    assert [row["item_id"] for row in rows] == ["item-0"]
    assert rows[0]["votes"] == 2
    assert dropped(result) == {"tie": 1, "order_conflict": 1, "judge_conflict": 2}


def test_majority_counts_judges_not_verdicts(tmp_path):
    loud = [judgment(0, judge="owl", order=order, verdict="B>A") for order in (("A", "B"), ("B", "A"))]
    others = [judgment(0, judge=name, verdict="A>>B") for name in ("jay", "wren")]
    even = [judgment(1, judge="owl"), judgment(1, judge="jay", verdict="B>A")]
    result, rows = exported(tmp_path / "d", [*loud, *others, *even], reconcile="majority")
    assert [(row["item_id"], row["chosen_id"], row["judge"]) for row in rows] == [("item-0", "A", "jay, wren")]
    assert rows[0]["margin"] == pytest.approx((2 + 2 - 1 - 1) / 4)
    assert dropped(result) == {"judge_conflict": 1}


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


def test_a_ranking_gives_a_pair_for_every_two_groups(tmp_path):
    texts = {
        "x": "An answer in full.",
        "y": "Half an answer, perhaps.",
        "z": "No answer, sadly.",
        "u": "Off the point!",
    }
    one = judgment(0, verdict=[["x"], ["y", "z"], ["u"]], responses=texts, order=("x", "y", "z", "u"))
    _, rows = exported(tmp_path / "d", [one])
    assert {(row["chosen_id"], row["rejected_id"]) for row in rows} == {
        ("x", "y"),
        ("x", "z"),
        ("x", "u"),
        ("y", "u"),
        ("z", "u"),
    }


def test_items_with_one_response_are_counted_and_alone_are_an_error(tmp_path):
    from metajudge.errors import InputError

    graded = judgment(1, verdict=4.0, responses={"A": "The only answer."}, order=("A",))
    result, rows = exported(tmp_path / "d", [judgment(0), graded])
    assert len(rows) == 1
    assert dropped(result) == {"single_response": 1}
    with pytest.raises(InputError, match="Grades make pairs of responses to the same question"):
        exported(tmp_path / "e", [graded])
    assert not (tmp_path / "e").exists()
    assert not list(tmp_path.glob(".*partial"))


def test_kto_rows_stand_alone_and_a_response_that_won_and_lost_is_dropped(tmp_path):
    texts = {"x": "An answer in full.", "y": "Half an answer, perhaps.", "z": "No answer, sadly."}
    one = judgment(0, verdict=[["x"], ["y"], ["z"]], responses=texts, order=("x", "y", "z"))
    result, rows = exported(tmp_path / "d", [one], format="kto")
    assert [(row["completion"], row["label"]) for row in sorted(rows, key=lambda row: not row["label"])] == [
        (texts["x"], True),
        (texts["z"], False),
    ]
    assert dropped(result) == {"won_and_lost": 1}


def test_the_lowest_probability_of_the_agreeing_verdicts_stands_for_the_pair(tmp_path):
    judgments = [judgment(0), judgment(0, order=("B", "A"))]
    vetted = [assessment(one, probability=value) for one, value in zip(judgments, (0.9, 0.7), strict=True)]
    _, rows = exported(tmp_path / "d", judgments, vetted)
    assert rows[0]["probability"] == 0.7
    assert rows[0]["agents"] == "wren (wren-1)"
    assert rows[0]["judgments"] == ["item-0/owl/AB", "item-0/owl/BA"]
