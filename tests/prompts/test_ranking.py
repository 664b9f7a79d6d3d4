"""What a ranking judge is shown: labels, texts and criteria, in the order given."""

import pytest

from metajudge.errors import PromptError
from metajudge.prompts.ranking import ShownCriterion, render_ranking, render_ranking_system

RESPONSES = {"Q": "first text", "B": "second text"}


def test_responses_stand_under_their_labels_in_the_order_given():
    text = render_ranking("Why?", RESPONSES)
    assert text.index("Why?") < text.index("first text") < text.index("second text")
    turned = render_ranking("Why?", dict(reversed(RESPONSES.items())))
    assert turned.index("second text") < turned.index("first text")


def test_criteria_and_reference_are_shown_where_there_are_some():
    plain = render_ranking("Why?", RESPONSES)
    full = render_ranking("Why?", RESPONSES, [ShownCriterion("depth", "Goes deep", 40)], reference="Because.")
    assert "Goes deep" in full
    assert "40" in full
    assert "Because." in full
    assert "Goes deep" not in plain
    assert "Because." not in plain


def test_what_is_asked_for_depends_on_scores_and_ties():
    prompts = {render_ranking_system(scored=scored, ties=ties) for scored in (True, False) for ties in (True, False)}
    assert len(prompts) == 4


def test_nothing_to_rank_is_refused():
    with pytest.raises(PromptError, match="at least one response"):
        render_ranking("Why?", {})
