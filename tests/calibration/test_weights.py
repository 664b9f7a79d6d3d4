"""Agents' weights: fitted per category, out of fold, kept equal where fitting does not help."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest

from metajudge.calibration import weights as weights_module
from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.folds import question_folds
from metajudge.calibration.table import build_table
from metajudge.calibration.weights import _fitted, fit_weights, to_toml
from metajudge.errors import InputError
from metajudge.panels.config import panel_config
from metajudge.types import Item, Judgment, Pairwise

NOISE = {"a": 0.3, "b": 2.0, "c": 2.0}


def scored(n=240, noise=NOISE, seed=1, category="Math", prefix="j", signal=1.0):
    """Judgments right in 60 %, and agents' scores that say so with a noise of their own."""
    rng = np.random.default_rng(seed)
    judgments, scores = [], {}
    for number in range(n):
        right = rng.random() < 0.6
        item = Item(
            id=f"{prefix}{number}",
            question=f"{prefix} question {number // 2}",
            responses={"A": "x", "B": "y"},
            category=category,
            label=Pairwise("A", "B", 1),
        )
        verdict = Pairwise("A", "B", 1) if right else Pairwise("B", "A", 1)
        judgments.append(Judgment(id=f"{prefix}{number}", item=item, judge="owl", verdict=verdict))
        scores[f"{prefix}{number}"] = {agent: 3 + signal * right + rng.normal() * by for agent, by in noise.items()}
    return judgments, scores


def table_of(*parts):
    judgments = [judgment for part in parts for judgment in part[0]]
    scores = {name: said for part in parts for name, said in part[1].items()}
    agents = {agent: f"model {agent}" for said in scores.values() for agent in said}
    return build_table(judgments, ["agents"], agent_scores=AgentScores(scores, agents))


def test_the_better_agent_weighs_more_and_helps_out_of_fold():
    (found,) = fit_weights(table_of(scored()))
    assert found.weights["a"] > 0.6
    assert sum(found.weights.values()) == pytest.approx(1)
    assert found.fitted
    assert found.log_loss < found.equal_log_loss
    assert found.auc > found.equal_auc
    assert (found.n, found.questions) == (240, 120)


def test_scores_that_say_nothing_keep_equal_weights_and_promise_no_gain():
    found = [fit_weights(table_of(scored(seed=seed, signal=0.0)))[0] for seed in range(4)]
    assert sum(one.fitted for one in found) <= 1
    for one in found:
        assert one.fitted or set(one.weights.values()) == {1 / 3}
        assert one.gain.low <= 0.005
        assert one.gain.estimate == pytest.approx(one.equal_log_loss - one.log_loss)


def test_a_gain_that_is_real_has_an_interval_above_nothing():
    (found,) = fit_weights(table_of(scored()))
    assert 0 < found.gain.low < found.gain.estimate < found.gain.high


def test_what_a_category_is_shrunk_to_never_saw_the_fold_it_is_measured_on():
    # Labels of one fold turned round: predictions for that fold must not move.
    other = scored(noise={"a": 2.0, "b": 2.0, "c": 0.3}, seed=2, category="Code", prefix="k")
    table = table_of(scored(), other)
    fold = question_folds(table.questions, 5, [0])
    turned = replace(table, correct=np.where(fold == 0, ~table.correct, table.correct))
    seen = [{}, {}]
    for at, given in enumerate((table, turned)):

        def spy(scores, correct, folds, train, base, at=at):
            found = _fitted(scores, correct, folds, train, base)
            if not (train & (fold == 0)).any():
                seen[at][train.tobytes()] = found
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(weights_module, "_fitted", spy)
            fit_weights(given)
    assert len(seen[0]) == 3  # all together, Code and Math without fold 0
    for rows, found in seen[0].items():
        assert np.array_equal(found, seen[1][rows])


def test_a_contrary_agent_gets_a_small_positive_weight():
    judgments, scores = scored(noise={"a": 0.5, "b": 0.5, "c": 0.5})
    contrary = {name: {**said, "c": 7 - said["c"]} for name, said in scores.items()}
    (found,) = fit_weights(table_of((judgments, contrary)))
    assert 0 < found.weights["c"] < 0.1


def test_each_category_gets_its_own_weights():
    other = scored(noise={"a": 2.0, "b": 2.0, "c": 0.3}, seed=2, category="Code", prefix="k")
    found = {one.category: one for one in fit_weights(table_of(scored(), other))}
    assert found["Math"].weights["a"] > found["Math"].weights["c"]
    assert found["Code"].weights["c"] > found["Code"].weights["a"]


def test_a_category_with_too_few_judgments_gets_no_weights_of_its_own():
    few = scored(n=10, seed=2, category="Code", prefix="k")
    assert [one.category for one in fit_weights(table_of(scored(), few))] == [None, "Math"]


def test_judgments_not_scored_by_every_agent_are_left_out():
    judgments, scores = scored()
    del scores["j0"]["a"]
    (found,) = fit_weights(table_of((judgments, scores)))
    assert found.n == 239


def test_the_same_input_gives_the_same_weights():
    assert fit_weights(table_of(scored())) == fit_weights(table_of(scored()))


def test_the_toml_is_a_panel_file_with_agents_and_routes():
    other = scored(seed=2, category='a "b" é', prefix="k")
    found = fit_weights(table_of(scored(), other))
    models = {"a": "openai:gpt-4o-mini", "b": "claude-sonnet-4-5", "c": "meta/llama-3"}
    config = panel_config(tomllib.loads(to_toml(found, models)))
    assert [agent.model for agent in config.agents] == [
        "openai:gpt-4o-mini",
        "anthropic:claude-sonnet-4-5",
        "openrouter:meta/llama-3",
    ]
    assert {agent.name: agent.weight for agent in config.agents} == pytest.approx(found[0].weights, abs=1e-4)
    for one in found[1:]:
        assert config.routes[one.category].agent_weights == pytest.approx(one.weights, abs=1e-4)
    assert to_toml(found, models).count("check it") == 2  # providers that were guessed are said


def test_without_models_only_the_routes_are_toml():
    found = fit_weights(table_of(scored(), scored(seed=2, category="Code", prefix="k")))
    assert panel_config(tomllib.loads(to_toml(found))).agents == ()
    assert "# all categories" in to_toml(found)


def test_a_single_agent_has_nothing_to_share():
    with pytest.raises(InputError, match="at least two agents"):
        fit_weights(table_of(scored(noise={"a": 1.0})))


def test_no_judgment_scored_by_all_is_refused():
    judgments, scores = scored()
    half = {name: {"ab"[number % 2]: 3.0} for number, name in enumerate(scores)}
    with pytest.raises(InputError, match="no labelled judgment was scored by every agent"):
        fit_weights(table_of((judgments, half)))


def test_one_class_only_and_too_few_questions_are_refused():
    judgments, scores = scored()
    table = table_of((judgments, scores))
    with pytest.raises(InputError, match="are right"):
        fit_weights(table.select(table.correct))
    with pytest.raises(InputError, match="questions for 5 folds"):
        fit_weights(table_of(scored(n=8)))
