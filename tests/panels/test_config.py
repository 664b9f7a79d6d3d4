"""Panel files: what an agent may be given, what is refused, and what is built."""

import tomllib
from pathlib import Path

import pytest

from metajudge.errors import ConfigurationError
from metajudge.panels.building import build_vetter, threshold_of
from metajudge.panels.config import AgentConfig, PanelConfig, Route, load_panel_file, panel_config
from metajudge.panels.template import panel_text
from metajudge.providers.notices import Notices
from metajudge.providers.stack import Resources
from metajudge.rubric import load_rubric


def one(**options):
    return panel_config({"agents": [{"model": "openai:m", **options}]}).agents[0]


class TestForms:
    @pytest.mark.parametrize(("former", "now"), [(True, "before"), (False, "after")])
    def test_the_former_name_of_explanations_is_read(self, former, now):
        assert one(explanations_first=former).explanations == now
        assert one(explanations=now).explanations == now

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"explanations": "first"}, r"explanations: Input should be 'before', 'after' or 'none' \(found 'first'\)"),
            ({"explanations_first": "yes"}, "explanations_first must be true or false, not 'yes'"),
            ({"explanations_first": True, "explanations": "none"}, "give explanations alone"),
            ({"analysis": "long"}, r"agents\.0\.analysis"),
        ],
    )
    def test_what_is_no_form_is_refused(self, options, said):
        with pytest.raises(ConfigurationError, match=said):
            one(**options)


class TestHeaders:
    def test_secrets_in_headers_are_neither_held_nor_repeated_and_others_are_kept(self):
        with pytest.raises(
            ConfigurationError, match=r"discussion\.summariser\.headers: .*cookie would contain a secret"
        ):
            panel_config({"discussion": {"summariser": {"model": "openai:m", "headers": {"cookie": "x"}}}})
        with pytest.raises(ConfigurationError) as refused:
            one(headers={"Authorization": ["sk-TopSecret"]})
        assert "TopSecret" not in str(refused.value)
        headers = {"x-team": "vetting", "anthropic-beta": "token-efficient-tools-2025-02-19", "x-keyword": "a"}
        assert one(headers=headers).headers == headers


TWO = [{"model": "openai:a"}, {"model": "openai:b"}]


@pytest.mark.parametrize(
    ("given", "strategy"),
    [
        ({"agents": TWO}, "weighted_average"),
        ({"agents": TWO[:1]}, "single"),
        ({}, "signals"),
        ({"agents": TWO, "rubric": "binary"}, "majority_vote"),
        ({"agents": [TWO[0], {**TWO[1], "rubric": "binary"}]}, "majority_vote"),
        ({"agents": TWO, "prompt_version": 1}, "majority_vote"),
        ({"agents": TWO, "strategy": "panel_discussion"}, "panel_discussion"),
    ],
)
def test_agents_without_a_strategy_average_unless_they_vote_or_did_so_when_their_results_were_stored(given, strategy):
    panel = panel_config(given)
    assert panel.chosen_strategy == strategy
    if given:
        built = build_vetter(panel, Resources(key_for=lambda _spec: "not-sent"), early_exit=False)
        assert built.default.strategy == strategy


def vetter_of(config):
    return build_vetter(config, Resources(key_for=lambda _: "key"), early_exit=False)


class TestBuiltForms:
    """What replies consist of, by prompt set, strategy and agent."""

    def built(self, notices=None, strategy=None, rubric="short", version=None, **options):
        agents = [{"model": "openai:gpt-4o-mini", **options}]
        config = panel_config({"agents": agents, "strategy": strategy, "rubric": rubric, "prompt_version": version})
        resources = Resources(key_for=lambda _: "key", notices=notices or Notices())
        return build_vetter(config, resources, early_exit=False).default

    def test_blind_judges_have_a_form_of_their_own_which_is_part_of_a_panels_identity(self):
        notices = Notices()
        panel = self.built(notices, "rejudge", analysis=True)
        assert (panel.agents[0].form.analysis, panel.agents[0].parameters.max_tokens) == (False, None)
        assert any("analysis dropped" in line for line in notices.lines)
        given = [{}, {"analysis": False}, {"explanations": "after"}, {"explanations": "none"}]
        assert len({self.built(**options).digest for options in given}) == 4

    def test_a_criterion_called_analysis_keeps_its_name(self, tmp_path):
        notices, rubric = Notices(), load_rubric("short")
        named = rubric.criteria[0].model_copy(update={"name": "analysis"})
        rubric = rubric.model_copy(update={"criteria": (named, *rubric.criteria[1:]), "weight_sets": {}})
        (tmp_path / "mine.yaml").write_text(rubric.model_dump_json())
        (agent,) = self.built(notices, rubric=str(tmp_path / "mine.yaml")).agents
        assert not agent.form.analysis
        assert any("no analysis is asked for" in line for line in notices.lines)


class TestThreshold:
    def test_rejudge_has_its_own_and_what_is_set_is_kept(self):
        agents = (AgentConfig(model="openai:a"), AgentConfig(model="openai:b"))
        routes = {
            "again": Route(strategy="rejudge"),
            "strict": Route(strategy="rejudge", threshold=4.5),
            "vote": Route(strategy="majority_vote"),
        }

        def thresholds(**panel):
            vetter = vetter_of(PanelConfig(agents=agents, routes=routes, **panel))
            return [vetter.default.threshold, *(vetter.routes[name].threshold for name in routes)]

        assert thresholds() == [4.5, 3.0, 4.5, 4.5]
        assert thresholds(strategy="rejudge") == [3.0, 3.0, 4.5, 4.5]
        assert thresholds(strategy="rejudge", threshold=4.5) == [4.5] * 4
        assert thresholds(threshold=4.0) == [4.0, 4.0, 4.5, 4.0]

    @pytest.mark.parametrize(("strategy", "expected"), [("rejudge", 3.0), ("majority_vote", 4.5), (None, 4.5)])
    def test_it_is_known_before_the_panel_is_built(self, strategy, expected):
        config = PanelConfig(agents=(AgentConfig(model="openai:a"),), strategy=strategy)
        assert threshold_of(config) == vetter_of(config).default.threshold == expected

    def test_one_that_nothing_can_meet_is_said(self):
        notices = Notices()
        config = PanelConfig(agents=(AgentConfig(model="openai:a"),), threshold=5.0, routes={"x": Route(threshold=4.0)})
        build_vetter(config, Resources(key_for=lambda _: "key", notices=notices), early_exit=False)
        assert [line.split(":")[0] for line in notices.lines] == ["nothing can be kept"]


# A panel file as written: its comments can be used, and what makes no sense is refused.
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
