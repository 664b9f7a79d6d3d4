"""Response pairs: what is preferred, and how several verdicts become one."""

import pytest

from tests.exports.vetted import dropped, exported, judgment


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
