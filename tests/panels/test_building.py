import pytest

from metajudge.errors import ConfigurationError
from metajudge.panels.building import build_vetter
from metajudge.panels.config import panel_config
from metajudge.providers.notices import Notices
from metajudge.providers.stack import Resources
from metajudge.strategies import StrategyName


class TestConfiguration:
    def test_a_panel_file_names_the_policy(self):
        config = panel_config({"families": "forbid", "agents": [{"model": "openai:gpt-4o-mini"}]})
        built = build_vetter(config, Resources(key_for=lambda _: "key"), early_exit=False)
        assert built.default.families == "forbid"

    def test_the_default_is_to_warn_through_the_runs_notices(self):
        notices = Notices()
        config = panel_config({"agents": [{"model": "openai:gpt-4o-mini"}]})
        built = build_vetter(config, Resources(key_for=lambda _: "key", notices=notices), early_exit=False)
        assert built.default.families == "warn"
        built.notice("heard")
        assert notices.lines == ("heard",)

    def test_another_word_is_an_error(self):
        with pytest.raises(ConfigurationError, match="families"):
            panel_config({"families": "allow"})

    def test_rejudge_is_configured_like_any_strategy(self):
        config = panel_config({"strategy": "rejudge", "agents": [{"model": "openai:gpt-4o-mini"}]})
        built = build_vetter(config, Resources(key_for=lambda _: "key"), early_exit=False).default
        assert (built.strategy, built.rubric, built.max_calls()) == (StrategyName.REJUDGE, None, 2)
