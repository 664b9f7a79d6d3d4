import pytest

from metajudge.errors import ConfigurationError
from metajudge.panels.building import ANALYSIS_MAX_TOKENS, build_vetter, threshold_of
from metajudge.panels.config import AgentConfig, PanelConfig, Route, panel_config
from metajudge.prompts.reply_form import ReplyForm
from metajudge.prompts.versions import FIRST, NEWEST
from metajudge.providers.notices import Notices
from metajudge.providers.stack import Resources
from metajudge.rubric import load_rubric


def vetter_of(config):
    return build_vetter(config, Resources(key_for=lambda _: "key"), early_exit=False)


class TestConfiguration:
    def test_the_default_is_to_warn_through_the_runs_notices(self):
        notices = Notices()
        config = panel_config({"agents": [{"model": "openai:gpt-4o-mini"}]})
        built = build_vetter(config, Resources(key_for=lambda _: "key", notices=notices), early_exit=False)
        assert built.default.families == "warn"
        built.notice("heard")
        assert notices.lines == ("heard",)


class TestForms:
    """What replies consist of, by prompt set, strategy and agent."""

    def built(self, notices=None, strategy=None, rubric="short", version=None, **options):
        agents = [{"model": "openai:gpt-4o-mini", **options}]
        config = panel_config({"agents": agents, "strategy": strategy, "rubric": rubric, "prompt_version": version})
        resources = Resources(key_for=lambda _: "key", notices=notices or Notices())
        return build_vetter(config, resources, early_exit=False).default

    @pytest.mark.parametrize("rubric", ["short", "long", "binary", "baseline"])
    def test_an_analysis_is_asked_for_by_default_and_its_tokens_are_bounded(self, rubric):
        (agent,) = self.built(rubric=rubric).agents
        assert agent.form == ReplyForm(analysis=True, explanations="before")
        assert agent.parameters.max_tokens == ANALYSIS_MAX_TOKENS
        assert agent.prompt_version == NEWEST

    @pytest.mark.parametrize("options", [{"effort": "low"}, {"effort": "max"}, {"analysis": False}])
    def test_not_of_models_that_reason_by_themselves_nor_where_it_is_turned_off(self, options):
        (agent,) = self.built(**options).agents
        assert (agent.form.analysis, agent.parameters.max_tokens) == (False, None)

    @pytest.mark.parametrize("options", [{"effort": "none"}, {"effort": "high", "analysis": True}])
    def test_the_setting_decides_where_it_is_given_and_no_effort_is_none(self, options):
        assert self.built(**options).agents[0].form.analysis

    def test_under_the_first_set_replies_are_as_they_were(self):
        (agent,) = self.built(version=FIRST).agents
        assert (agent.form, agent.parameters.max_tokens) == (ReplyForm(), None)
        (agent,) = self.built(version=FIRST, explanations_first=False).agents
        assert agent.form == ReplyForm(explanations="after")

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

    @pytest.mark.parametrize(("version", "marked"), [(FIRST, 0), (NEWEST, 4), (None, 4)])
    def test_built_in_rubrics_are_those_of_the_set(self, version, marked):
        rubric = self.built(version=version).agents[0].rubric
        assert sum(criterion.judges_rationale for criterion in rubric.criteria) == marked


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
