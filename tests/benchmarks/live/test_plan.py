"""The sample, its price and the plan's digest."""

import json

import pytest
from metajudge.benchmarks.live.experiment import read_candidates
from metajudge.benchmarks.live.plan import check_items, make_plan
from metajudge.benchmarks.live.power import power, power_lines
from metajudge.benchmarks.live.pricing import affordable, price, total
from metajudge.benchmarks.live.sampling import NO_TEXTS, draw

from metajudge.errors import ConfigurationError, InputError
from metajudge.readers import open_judgments
from metajudge.readers.realmistake import WITHHELD
from metajudge.runs.estimate import size_of
from metajudge.vetting.prompt_set import priced_vetter
from tests.doubles.live_runs import candidates, made_file, setup


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return candidates(tmp_path_factory.mktemp("made"), questions=40)


def plan(found, **changes):
    given = {"source": "made", "questions": 30, "per_question": 1, "seed": 0, "budget_usd": 5.0, **changes}
    return make_plan(setup(), found, **given)


def test_the_draw_depends_on_its_seed_alone_and_takes_one_judgment_a_question(found):
    one = draw(found, 20, 1, 0)
    assert one == draw(found, 20, 1, 0)
    assert one != draw(found, 20, 1, 1)
    assert len({item.question for item in one}) == len(one) == 20
    assert len(draw(found, 20, 2, 0)) == 40
    assert len(draw(found, 1000, 5, 0)) == 120


def test_the_same_data_and_options_give_the_same_plan_and_others_another(found):
    one, items = plan(found)
    assert one.digest == plan(found)[0].digest
    assert one.sample.items != plan(found, seed=1)[0].sample.items
    assert one.digest != plan(found, questions=29)[0].digest
    assert one.calls == 3 * 30
    check_items(one, items)
    with pytest.raises(InputError, match="the plan is for the sample"):
        check_items(one, items[1:])


def test_a_panel_of_votes_has_no_average(found):
    with pytest.raises(ConfigurationError, match="which have no average"):
        make_plan(setup(rubric="binary"), found, source="", questions=5, per_question=1, seed=0, budget_usd=None)
    voting = setup(rubric="binary", panel_strategy="majority_vote")
    assert make_plan(voting, found, source="", questions=5, per_question=1, seed=0, budget_usd=None)


def test_judgments_without_texts_are_counted_and_not_drawn(tmp_path):
    lines = [json.loads(line) for line in made_file(tmp_path / "made.jsonl", 12).read_text().splitlines()]
    for line in lines:
        if line["item"]["id"] in ("q0", "q1"):
            line["item"]["responses"] = {"A": WITHHELD, "B": WITHHELD}
    (tmp_path / "some.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    some, _ = read_candidates(open_judgments([tmp_path / "some.jsonl"]))
    assert some.questions == 10
    assert some.left_out == {NO_TEXTS: 6}


def test_a_plan_holds_no_text_of_the_data(found):
    one, items = plan(found)
    for text in ("what is", "digit by digit"):
        assert text not in one.to_text()
        assert not any(text in item.model_dump_json() for item in items)


def test_the_price_is_that_of_the_rendered_prompts_to_the_cent(found):
    items = draw(found, 10, 1, 0)
    judgments = [found.judgments[item.judgment] for item in items]
    prices = price(setup(), judgments)
    panel = priced_vetter(setup().panel_of("agent-1")).default
    tokens = sum(size_of(panel.agents[0].request(one)) for one in judgments)
    first = prices[0]
    assert (first.calls, first.input_tokens) == (10, tokens)
    assert first.usd == pytest.approx((0.15 * tokens + 0.6 * first.output_tokens) / 1e6)
    assert first.most_usd >= first.usd
    assert total(prices) == pytest.approx(sum(one.usd for one in prices))


def test_assumed_replies_replace_the_usual_assumption(found):
    judgments = [found.judgments[item.judgment] for item in draw(found, 10, 1, 0)]
    longer = price(setup(reply_tokens={"agent-1": 4000}), judgments)
    assert longer[0].output_tokens == 40_000
    assert longer[0].most_usd == longer[0].usd


def test_a_budget_pays_for_so_many_questions_and_leaves_a_tenth(found):
    def judgments(items):
        return [found.judgments[item.judgment] for item in items]

    def drawn(count):
        return draw(found, count, 1, 0)

    whole = total(price(setup(), judgments(drawn(40))))
    assert affordable(setup(), drawn, judgments, 40, whole / 0.89) == 40
    half = affordable(setup(), drawn, judgments, 40, whole / 2)
    assert total(price(setup(), judgments(drawn(half)))) <= 0.9 * whole / 2
    assert 14 <= half <= 20
    with pytest.raises(ConfigurationError, match="does not pay for one question"):
        affordable(setup(), drawn, judgments, 40, 1e-6)


def test_an_unknown_price_is_named(found):
    agents = {**setup().model_dump()["agents"], "agent-2": {"model": "openai:never-heard-of", "max_tokens": 10}}
    unknown = setup(agents=agents)
    with pytest.raises(ConfigurationError, match="no price is known for openai:never-heard-of"):
        affordable(unknown, lambda n: draw(found, n, 1, 0), lambda items: list(found.judgments.values())[:2], 2, 1.0)


def test_power_rises_with_the_effect_and_the_questions_and_is_the_level_at_none():
    assert power(0.0, 200, 200, 0.01) == pytest.approx(0.005, abs=0.003)
    assert power(0.1, 100, 100, 0.01) < power(0.1, 200, 200, 0.01) < power(0.15, 200, 200, 0.01)
    assert power(0.1, 200, 200, 0.01) < power(0.1, 200, 200, 0.01, 0.5)
    few, many = power_lines(10, 10, 0.01), power_lines(200, 200, 0.01)
    assert few[0].smallest is None
    assert power(many[0].smallest, 200, 200, 0.01) == pytest.approx(0.8, abs=0.01)
    assert power_lines(1, 50, 0.01) == []
