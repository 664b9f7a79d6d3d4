"""A ranking judge is asked only about something."""

import pytest

from metajudge.errors import PromptError
from metajudge.prompts.ranking import render_ranking


def test_nothing_to_rank_is_refused():
    with pytest.raises(PromptError, match="at least one response"):
        render_ranking("Why?", {})
