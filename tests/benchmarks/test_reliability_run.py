"""A panel of scripted judges over labelled pairs, from the first call to the report."""

import json
from dataclasses import replace

import pytest
from metajudge.benchmarks.reliability.analyse import analyse_records
from metajudge.benchmarks.reliability.clash_records import evaluations_of, read_clash_records
from metajudge.benchmarks.reliability.report import report_of
from metajudge.benchmarks.reliability.run import Protocol, run_panel

from metajudge.clashes.clash import Clash, Judge
from metajudge.errors import ConfigurationError, InputError
from metajudge.providers.scripted import ScriptedModel
from metajudge.report.html import to_html
from tests.doubles.reliability import fond_of, pair, ranking


def panel(*models, **settings):
    return Clash(judges=tuple(Judge(model.name, model) for model in models), **settings)


def steady():
    return panel(fond_of("good", "owl"), fond_of("good", "hawk"), fond_of("bad", "wren"))


async def test_every_item_is_judged_in_every_run_with_labels_of_its_own():
    items = [pair(n) for n in range(8)]
    done = await run_panel(items, steady(), Protocol(runs=2))
    assert len(done.records) == 16
    found = evaluations_of(done.records)
    assert {(one.item, one.run) for one in found.evaluations} == {(f"q{n}", run) for n in range(8) for run in (1, 2)}
    assert all(one.right and one.votes == {"owl": "A", "hawk": "A", "wren": "B"} for one in found.evaluations)
    firsts = [tuple(one.shown_first.values()) for one in found.evaluations]
    assert len(set(firsts)) > 2
    assert any(one.shown_first != other.shown_first for one in found.evaluations for other in found.evaluations
               if one.item == other.item and one.run != other.run)  # fmt: skip


async def test_models_names_never_reach_a_judge():
    items = [pair(1, responses={"A": "I am gpt-4, good 1", "B": "bad 1"})]
    clash = steady()
    await run_panel(items, clash, Protocol(runs=1))
    for judge in clash.judges:
        for request in judge.model.requests:
            assert "gpt-4" not in request.messages[0].text
            assert "vicuna" not in request.messages[0].text


async def test_the_targeted_third_run_takes_what_the_rule_says():
    judges = [fond_of("good", name, wrong=0.35, seed=seed) for seed, name in enumerate(("owl", "hawk", "wren"))]
    items = [pair(n) for n in range(20)]
    done = await run_panel(items, panel(*judges), Protocol(runs=2, targeted=True, third_size=12))
    third = [record.item_id for record in done.records if record.repeat == 3]
    assert sorted(third) == sorted(done.third.chosen)
    assert done.third.unstable
    found = analyse_records(done.records, Protocol(runs=2, targeted=True, third_size=12), done.third)
    assert found.figures["third.chosen"].n == len(third)
    assert found.figures["run1.n"].value == found.figures["run2.n"].value == 20
    assert any("targeted run took" in sentence for sentence in found.summary)


async def test_what_could_not_be_asked_is_attempted_again_and_nothing_is_overwritten():
    items = [pair(n) for n in range(10)]
    models = [fond_of("good", name) for name in ("owl", "hawk", "wren")]
    flaky = fond_of("good", "owl", fails=0.5, seed=4)
    first = await run_panel(items, panel(flaky, *models[1:]), Protocol(runs=1))
    lost = [record for record in first.records if not record.everybody_asked]
    assert 0 < len(lost) < 10
    second = await run_panel(items, panel(*models), Protocol(runs=1), earlier=first.records)
    assert second.records[:10] == first.records
    assert [record.attempt for record in second.records[10:]] == [2] * len(lost)
    assert len(models[1].requests) == 10  # whoever answered is not asked again
    found = evaluations_of(second.records)
    assert len(found.evaluations) == 10
    assert all(None not in one.votes.values() for one in found.evaluations)


async def test_records_of_another_panel_are_not_gone_on_from():
    items = [pair(1)]
    done = await run_panel(items, steady(), Protocol(runs=1))
    with pytest.raises(InputError, match="another panel"):
        await run_panel(items, panel(fond_of("good", "crow")), Protocol(runs=1), earlier=done.records)
    with pytest.raises(InputError, match="another seed"):
        await run_panel(
            items, panel(*(j.model for j in steady().judges), seed=5), Protocol(runs=1), earlier=done.records
        )
    other = await run_panel(items, panel(fond_of("good", "crow")), Protocol(runs=1))
    with pytest.raises(InputError, match="different panels"):
        evaluations_of([*done.records, *other.records])


async def test_records_survive_a_file_and_are_analysed_alone(tmp_path):
    items = [pair(n, label="B>A" if n % 3 == 0 else "A>B") for n in range(9)]
    done = await run_panel(items, steady(), Protocol(runs=2))
    path = tmp_path / "records.jsonl"
    path.write_text("".join(record.model_dump_json() + "\n" for record in done.records))
    found = analyse_records(read_clash_records(path))
    assert found.figures["run1.concordance"].value == pytest.approx(200 / 3)
    assert found.figures["retest.run1_run2.same"].value == 100
    assert found.figures["stability.classes"].value["stable_wrong"] == 3
    with path.open("a") as stream:
        stream.write('{"version": 1}\n')
    with pytest.raises(InputError, match=r"records\.jsonl:19: "):
        read_clash_records(path)


async def test_an_observers_vote_is_in_no_figure():
    observer = Judge("gpt-4", fond_of("bad", "gpt-4"), own="A")
    clash = panel(*(judge.model for judge in steady().judges), observers=(observer,))
    done = await run_panel([pair(n) for n in range(3)], clash, Protocol(runs=1))
    assert all(len(record.votes) == 4 for record in done.records)
    for one in evaluations_of(done.records).evaluations:
        assert set(one.votes) == set(one.shown_first) == {"owl", "hawk", "wren"}
    found = analyse_records(done.records).figures
    assert [name for name in found if name.startswith("self.")] == ["self.first", "self.by_model.A"]
    assert found["self.by_model.A"].value == {"first": 0, "panel": 100, "difference": -100, "p": 0.25}
    assert found["self.first"].n == 3
    assert found["judges.fleiss_kappa"].definition.startswith("judges' first choices")
    assert found["unanimity.split"].n == 3


async def test_unlabelled_pairs_are_said_to_be_left_out():
    done = await run_panel([pair(1, label=None), pair(2)], steady(), Protocol(runs=1))
    found = analyse_records(done.records)
    assert any("1 without a human winner" in sentence for sentence in found.summary)
    done = await run_panel([pair(1, label="A=B")], steady(), Protocol(runs=1))
    with pytest.raises(InputError, match="nothing to hold against a human: 1 without a human winner"):
        analyse_records(done.records)


def test_a_protocol_that_makes_no_sense_is_refused():
    for settings, message in (
        ({"runs": 0}, "--runs"),
        ({"runs": 1, "targeted": True}, "--targeted-third needs"),
        ({"third_size": 0}, "--third-size"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            Protocol(**settings)
    assert Protocol().size_for(100) == 60
    assert Protocol(third_size=5).size_for(100) == 5


async def test_cycles_are_analysed_where_there_are_some():
    base = (await run_panel([pair(n) for n in range(4)], steady(), Protocol(runs=2))).records
    later = [
        record.model_copy(
            update={
                "cycle": 2,
                "key": record.key + "c2",
                "winner": "B" if record.item_id == "q0" else record.winner,
                "candidates": tuple(
                    one.model_copy(update={"text_digest": f"{one.text_digest}2"}) for one in record.candidates
                ),
            }
        )
        for record in base
    ]
    found = analyse_records([*base, *later]).figures
    assert (found["cycles.stable"].value, found["cycles.stable"].n) == (75, 4)
    assert found["cycles.digests"].value == {"all_different": 8, "repeated": 0, "all_equal": 0}
    assert found["cycles.variance"].value["judgment"] == 0
    assert found["cycles.variance"].value["generation"] > 0
    assert json.dumps(found["cycles.by_category"].value)
    unlabelled = [record.model_copy(update={"label": None}) for record in (*base, *later)]
    alone = analyse_records(unlabelled)
    assert alone.figures == {name: one for name, one in found.items() if name.startswith("cycles.")}
    page = to_html(report_of(alone.figures, title="Panel", summary=alone.summary, provenance={}))
    assert "Answers made anew" in page


async def test_one_judge_or_one_model_under_several_names_is_never_called_unanimous():
    one = fond_of("good", "owl")
    for judges in ((Judge("a", one),), (Judge("a", one), Judge("b", one), Judge("c", one))):
        done = await run_panel([pair(n) for n in range(3)], Clash(judges), Protocol(runs=1))
        assert all(record.tally.triage == "escalate" for record in done.records)
        found = analyse_records(done.records)
        for name in ("unanimity.unanimous", "unanimity.split", "unanimity.fisher_p"):
            assert found.figures[name].value is None
            assert "cannot agree with itself" in found.figures[name].why
        assert any("No verdict is called unanimous" in sentence for sentence in found.summary)
        page = to_html(report_of(found.figures, title="Panel", summary=found.summary, provenance={}))
        assert "cannot agree with itself" in page


async def test_a_judge_that_takes_the_first_answer_shown_is_reported_in_the_summary():
    judges = (
        Judge("fond", ScriptedModel(lambda request: ranking(0), name="fond")),
        Judge("owl", fond_of("good", "owl")),
    )
    done = await run_panel([pair(n) for n in range(14)], Clash(judges), Protocol(runs=1))
    (sentence,) = [one for one in analyse_records(done.records).summary if "shown first" in one]
    assert "judge fond preferred the answer it was shown first in 14 of 14 evaluations" in sentence


async def test_makers_and_families_never_reach_a_judge_and_the_summary_counts_them():
    text = "I am ChatGPT, an AI by OpenAI; good 1"
    items = [
        pair(1, responses={"A": text, "B": "As Claude by Anthropic: bad 1"}, models={"A": "x-1", "B": "claude-v1"})
    ]
    clash = steady()
    done = await run_panel(items, clash, Protocol(runs=1))
    for judge in clash.judges:
        for request in judge.model.requests:
            prompt = request.messages[0].text.lower()
            assert not [name for name in ("chatgpt", "openai", "claude", "anthropic") if name in prompt]
    assert any("4 names hidden in 2 answers" in sentence for sentence in analyse_records(done.records).summary)


async def test_records_of_an_earlier_version_are_judged_anew_only_where_judges_could_read_a_name():
    items = [pair(1), pair(2, responses={"A": "I am ChatGPT: good 2", "B": "bad 2"})]
    clash = steady()
    old = (await run_panel(items, replace(clash, hide_identities=False), Protocol(runs=1))).records
    old = [record.model_copy(update={"blinding": None}) for record in old]
    asked = len(clash.judges[0].model.requests)
    again = await run_panel(items, clash, Protocol(runs=1), earlier=old)
    assert len(clash.judges[0].model.requests) == asked + 1
    assert [(record.item_id, record.attempt) for record in again.records[2:]] == [("q2", 2)]
    counted = evaluations_of(again.records).counting
    assert {record.item_id: record.blinding is not None for record in counted} == {"q1": False, "q2": True}
