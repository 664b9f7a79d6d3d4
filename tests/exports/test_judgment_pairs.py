"""Judge pairs."""

import pytest

from metajudge.errors import ConfigurationError, InputError
from metajudge.exports import ExportRequest
from tests.exports.vetted import assessment, exported, judgment


def panel(number=0, order=("A", "B"), scores=None):
    """Three judges of one prompt: two for A (kept), one for B (discarded), by default."""
    said = [
        judgment(number, judge="owl", order=order),
        judgment(number, judge="jay", order=order),
        judgment(number, judge="wren", order=order, verdict="B>A"),
    ]
    scores = scores or (4.9, 4.6, 2.0)
    return said, [assessment(one, score > 4.5, final_score=score) for one, score in zip(said, scores, strict=True)]


def test_the_best_kept_judgment_is_chosen_over_the_worst_discarded_one(tmp_path):
    said, vetted = panel()
    _, (row,) = exported(tmp_path / "d", said, vetted, kind="judgments")
    assert row["chosen"] == said[0].rationale + "\n\n[[A>B]]"
    assert row["rejected"] == said[2].rationale + "\n\n[[B>A]]"
    assert row["margin"] == pytest.approx(2.9)
    assert (row["chosen_id"], row["rejected_id"]) == (said[0].id, said[2].id)
    assert row["judge"] == "owl over wren"


def test_the_prompt_shows_what_the_judge_saw_in_its_order_and_under_its_labels(tmp_path):
    said, vetted = panel(order=("B", "A"))
    _, (row,) = exported(tmp_path / "d", said, vetted, kind="judgments")
    responses = said[0].item.responses
    assert f"[Response A]\n{responses['B']}\n\n[Response B]\n{responses['A']}" in row["prompt"]
    assert row["chosen"].endswith("[[B>A]]"), "response A stood second, so the judge called it B"


def test_judgments_of_different_orders_are_never_paired_since_their_prompts_differ(tmp_path):
    kept, discarded = judgment(0), judgment(0, judge="jay", verdict="B>A", order=("B", "A"))
    with pytest.raises(InputError, match="Judge pairs need a kept and a discarded judgment of one prompt"):
        exported(tmp_path / "d", [kept, discarded], [assessment(kept), assessment(discarded, False)], kind="judgments")


def test_pairings(tmp_path):
    said, vetted = panel()
    extra = judgment(0, judge="lark", verdict="B>>A")
    said, vetted = [*said, extra], [*vetted, assessment(extra, False, final_score=1.0)]
    counts = {
        pairing: [(row["chosen_id"], row["rejected_id"]) for row in rows]
        for pairing in ("best-worst", "one-per-judge", "all")
        for _, rows in [exported(tmp_path / pairing, said, vetted, kind="judgments", pairing=pairing)]
    }
    worst = extra.id
    assert counts["best-worst"] == [(said[0].id, worst)]
    assert set(counts["one-per-judge"]) == {(said[0].id, worst), (said[1].id, worst)}
    assert len(counts["all"]) == 4


def test_quality_pairs_of_the_same_winner_only_where_asked_for(tmp_path):
    good, poor = judgment(0), judgment(0, judge="jay")
    vetted = [assessment(good), assessment(poor, False)]
    with pytest.raises(InputError, match="1 same winner"):
        exported(tmp_path / "d", [good, poor], vetted, kind="judgments")
    _, rows = exported(tmp_path / "d", [good, poor], vetted, kind="judgments", quality_pairs=True)
    assert [row["chosen_id"] for row in rows] == [good.id]


def test_by_label_there_must_be_a_label(tmp_path):
    with pytest.raises(InputError, match="no judgment has a label"):
        exported(tmp_path / "e", [judgment(1)], kind="judgments", by_label=True)


def test_kto_takes_every_judgment_with_its_label(tmp_path):
    said, vetted = panel()
    _, rows = exported(tmp_path / "d", said, vetted, kind="judgments", format="kto")
    assert sorted(row["label"] for row in rows) == [False, True, True]
    assert all(row["prompt"].startswith("Compare the responses") for row in rows)


def test_a_verdict_the_rationale_states_already_is_not_stated_twice(tmp_path):
    said, vetted = panel()
    stated = said[0].model_copy(update={"rationale": "A is right.\n[[A>B]]"})
    said[0], vetted[0] = stated, assessment(stated, final_score=4.9)
    _, (row,) = exported(tmp_path / "d", said, vetted, kind="judgments")
    assert row["chosen"] == stated.rationale


def test_keeping_everything_leaves_nothing_to_reject():
    with pytest.raises(ConfigurationError, match="none is discarded"):
        ExportRequest(kind="judgments", selection={"rule": "all"})


@pytest.mark.slow
def test_equally_good_judgments_are_chosen_between_by_the_seed_not_by_name(tmp_path):
    chosen = set()
    for seed in range(8):
        said, vetted = panel(scores=(4.9, 4.9, 2.0))
        _, (row,) = exported(tmp_path / str(seed), said, vetted, kind="judgments", seed=seed)
        chosen.add(row["chosen_id"])
    assert len(chosen) == 2
