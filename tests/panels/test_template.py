"""A panel file as written: its comments can be used, and what makes no sense is refused."""

import tomllib
from pathlib import Path

import pytest

from metajudge.errors import ConfigurationError
from metajudge.panels.config import load_panel_file, panel_config
from metajudge.panels.template import panel_text


def test_the_comments_are_settings_that_can_be_used():
    """What stands there as a comment must be legal once the mark is taken away."""
    text = panel_text(["openai:a"], "single", "short", folder=Path())
    settings = [
        line[2:] if line.startswith("# ") and (" = " in line or line.startswith("# [")) else line
        for line in text.splitlines()
        if not line.startswith("# ") or " = " in line or line.startswith("# [")
    ]
    panel = panel_config(tomllib.loads("\n".join(settings)))
    assert panel.limits["openai"].concurrency == 16
    assert panel.routes["math"].threshold == 4.0
    assert panel.seed == 7


def test_a_rubric_file_is_named_relative_to_the_panel_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("panels").mkdir()
    Path("own.yaml").write_bytes((Path(__file__).parents[2] / "rubrics" / "short.yaml").read_bytes())
    text = panel_text(["openai:a"], "single", "own.yaml", folder=Path("panels"))
    Path("panels/panel.toml").write_text(text)
    assert 'rubric = "../own.yaml"' in text
    assert load_panel_file(Path("panels/panel.toml")).rubric == "panels/../own.yaml"


@pytest.mark.parametrize(
    ("agents", "strategy", "said"),
    [
        (["openai:a", "openai:b"], "single", "does not go with 2 agents"),
        ([], "majority_vote", "needs agents"),
        (["openai:a"], "vote", "panel: strategy"),
    ],
)
def test_what_makes_no_sense_together_is_refused(agents, strategy, said):
    with pytest.raises(ConfigurationError, match=said):
        panel_text(agents, strategy, "short", folder=Path())
