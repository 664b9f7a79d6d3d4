import pytest

from metajudge.errors import ConfigurationError
from metajudge.panels.building import build_vetter, threshold_of
from metajudge.panels.config import AgentConfig, PanelConfig, Route, panel_config
from metajudge.prompts.versions import FIRST
from metajudge.providers.notices import Notices
from metajudge.providers.stack import Resources
from metajudge.rubric import load_rubric


def vetter_of(config):
    return build_vetter(config, Resources(key_for=lambda _: "key"), early_exit=False)


class TestForms:
    """What replies consist of, by prompt set, strategy and agent."""

    def built(self, notices=None, strategy=None, rubric="short", version=None, **options):
        agents = [{"model": "openai:gpt-4o-mini", **options}]
        config = panel_config({"agents": agents, "strategy": strategy, "rubric": rubric, "prompt_version": version})
        resources = Resources(key_for=lambda _: "key", notices=notices or Notices())
        return build_vetter(config, resources, early_exit=False).default

    @pytest.mark.parametrize("options", [{"analysis": True}, {"explanations": "none"}])
    def test_what_the_first_set_cannot_ask_for_is_refused(self, options):
        with pytest.raises(ConfigurationError, match=r"agent gpt-4o-mini: prompt set 1 cannot ask for .* set 2"):
            self.built(version=FIRST, **options)

    def test_blind_judges_have_a_form_of_their_own(self):
        notices = Notices()
        panel = self.built(notices, "rejudge", analysis=True)
        assert (panel.agents[0].form.analysis, panel.agents[0].parameters.max_tokens) == (False, None)
        assert any("analysis dropped" in line for line in notices.lines)

    def test_the_form_is_part_of_a_panels_identity(self):
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
