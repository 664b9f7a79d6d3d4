"""Panel files: what an agent may be given, and what is refused."""

import pytest

from metajudge.errors import ConfigurationError
from metajudge.panels.building import build_vetter
from metajudge.panels.config import panel_config
from metajudge.providers.stack import Resources


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
    @pytest.mark.parametrize(
        "name",
        [
            *("Authorization", "authorization", "Proxy-Authorization", "x-api-key", "X-API-Key", "api-key", "api_key"),
            *("x-goog-api-key", "Cookie", "Set-Cookie"),
        ],
    )
    def test_secrets_are_refused_without_repeating_them(self, name):
        with pytest.raises(ConfigurationError) as refused:
            one(headers={name: "sk-TopSecret"})
        assert f"{name} would contain a secret" in str(refused.value)
        assert "api_key_env" in str(refused.value)
        assert "TopSecret" not in str(refused.value)

    def test_the_summariser_may_hold_none_either(self):
        with pytest.raises(
            ConfigurationError, match=r"discussion\.summariser\.headers: .*cookie would contain a secret"
        ):
            panel_config({"discussion": {"summariser": {"model": "openai:m", "headers": {"cookie": "x"}}}})

    def test_a_malformed_value_is_not_repeated_either(self):
        with pytest.raises(ConfigurationError) as refused:
            one(headers={"Authorization": ["sk-TopSecret"]})
        assert "TopSecret" not in str(refused.value)

    def test_other_headers_are_kept(self):
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
