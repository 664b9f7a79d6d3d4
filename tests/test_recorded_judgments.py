"""Real recorded judgments through both protocols; run where METAJUDGE_DATA names a folder that holds them."""

import os
from pathlib import Path

import pytest

from metajudge.reading import open_judgments

DATA = Path(os.environ.get("METAJUDGE_DATA", "")) / "judgebench"
pytestmark = pytest.mark.skipif(
    not (os.environ.get("METAJUDGE_DATA") and DATA.is_dir()), reason="METAJUDGE_DATA names no folder with judgebench/"
)


def test_a_swapped_game_is_shown_as_the_judge_saw_it():
    from metajudge.prompts.fences import neutralise
    from metajudge.prompts.meta_judge import render_request

    games = list(open_judgments([DATA], judges=["o1-mini-2024-09-12"], limit=40))
    swapped = [one for one in games if one.order == ("B", "A") and one.verdict is not None and one.verdict.strength]
    assert swapped
    for one in swapped:
        text = render_request(one)
        assert text.index(neutralise(one.item.responses["B"])) < text.rindex(neutralise(one.item.responses["A"]))
        assert text.index("## Response A") < text.index("## Response B")
        shown = one.verdict.relabelled({"A": "B", "B": "A"})
        assert f"{shown}: " in text
