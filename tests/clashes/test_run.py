"""A run of clashes over a session: files, totals, how runs end, models from scripts."""

import json

import pytest

from metajudge.clashes.record import ClashRecord
from metajudge.clashes.run import ClashTotals, clash, clash_item
from metajudge.clashes.setup import ClashSettings
from metajudge.errors import BudgetExceeded, ConfigurationError, InputError, ModelTimeoutError
from metajudge.panels.config import panel_config
from metajudge.providers.scripted import ScriptedModel
from metajudge.runs.loop import RunEnd, Stop
from metajudge.session import Session
from metajudge.types import Item, Reply
from tests.doubles.ranking import fails, ranks_by, reply, shown

PAIR = {"id": "q1", "question": "Why?", "responses": {"x": "a long answer", "y": "short"}}


def judges(*names, preference=len):
    return [ranks_by(preference, name=name) for name in names or ("ann", "ben", "cat")]


def answers(name, text):
    """A candidate that gives this text and ranks the longest answer first where it is asked to rank."""

    def script(request):
        if request.schema is None:
            return text
        texts = shown(request)
        return reply(request, sorted(texts, key=lambda label: len(texts[label]), reverse=True))

    return ScriptedModel(script, name=name)


def asked(*models):
    return sum(len(one.requests) for one in models)


async def test_the_responses_of_items_play_no_part_where_candidates_answer():
    async with Session(judges()) as session:
        (record,) = (
            await clash(
                session, [PAIR | {"models": {"x": "gpt-4o"}}], candidates=[answers("ant", "1"), answers("b", "22")]
            )
        ).records
    assert set(record.answered) == {"ant", "b"}
    assert record.models == {}


async def test_a_model_given_for_one_role_does_not_answer_for_another_of_its_name():
    judge, candidate = ranks_by(len, name="same"), answers("same", "an answer")
    async with Session() as session:
        settings = ClashSettings(judges=[judge], candidates=[candidate, answers("other", "x")])
        (record,) = (await clash(session, ["Why?"], settings)).records
    assert record.answered["same"] == "an answer"
    assert asked(judge) == asked(candidate) == 1


class TestFiles:
    async def test_every_attempt_is_appended_and_a_second_run_asks_nothing(self, tmp_path):
        out, models = tmp_path / "c.jsonl", judges()
        seen = []
        for _ in range(2):
            async with Session(models) as session:
                found = await clash(
                    session, [PAIR], out=out, on_record=lambda record, reused: seen.append((record.id, reused))
                )
        assert seen == [("q1", False), ("q1", True)]
        assert (asked(*models), found.totals.reused) == (3, 1)
        (line,) = out.read_text().splitlines()
        assert ClashRecord.model_validate_json(line) == found.records[0]

    async def test_what_could_not_be_asked_is_asked_again_and_all_attempts_are_paid_for(self, tmp_path):
        out = tmp_path / "c.jsonl"
        priced = ScriptedModel(
            lambda request: Reply(reply(request, list(shown(request))), "stop", "ann", cost_usd=0.5), name="ann"
        )
        lost = fails(ModelTimeoutError("late"), name="ben")
        for ben in (lost, *judges("ben")):
            async with Session([priced, ben], panel=panel_config({"retry": {"attempts": 1}})) as session:
                found = await clash(session, [PAIR], out=out)
        assert [json.loads(line)["attempt"] for line in out.read_text().splitlines()] == [1, 2]
        assert len(priced.requests) == 1
        assert found.totals.all_attempts_usd == pytest.approx(0.5)

    async def test_a_line_cut_off_by_a_kill_is_dropped_with_a_notice(self, tmp_path):
        out, said = tmp_path / "c.jsonl", []
        out.write_text('{"id": "q1", "key"')
        async with Session(judges(), notify=said.append) as session:
            await clash(session, [PAIR], out=out)
        assert f"{out}: the last line is incomplete and was dropped" in said
        assert len(out.read_text().splitlines()) == 1


class TestEnds:
    async def test_a_run_that_an_error_ended_is_recorded_as_failed(self, tmp_path):
        path = tmp_path / "s.duckdb"
        async with Session(judges(), store=path) as session:
            with pytest.raises(ConfigurationError, match="quorum of 9"):
                await clash(session, [PAIR], quorum=9)
            run_id = session.run_id
        async with Session(store=path) as session:
            run = next(one for one in await session.store.runs(5) if one.run_id == run_id)
        assert run.status == "failed"

    async def test_a_stop_leaves_the_rest(self):
        stop, totals = Stop(), ClashTotals()
        items = [PAIR | {"id": f"q{n}"} for n in range(600)]
        async with Session(judges("ann"), concurrency=1) as session:
            found = await clash(
                session, items, totals=totals, stop=stop, on_record=lambda *_: stop.ask(RunEnd.INTERRUPTED)
            )
        assert totals.end is RunEnd.INTERRUPTED
        assert 0 < len(found.records) < 600
        assert totals.exit_code == 130

    async def test_a_spent_budget_ends_a_run_and_refuses_a_single_evaluation(self):
        def unaffordable(_request):
            return BudgetExceeded("spent")

        models = [ScriptedModel(unaffordable, name="ann")]
        async with Session(models) as session:
            found = await clash(session, [PAIR])
            assert (found.totals.end, found.records) == (RunEnd.BUDGET, ())
            with pytest.raises(BudgetExceeded):
                await clash_item(session, PAIR)


async def test_a_single_evaluation_is_that_of_a_run():
    async with Session(judges()) as session:
        (of_run,) = (await clash(session, [PAIR], seed=3)).records
    async with Session(judges()) as session:
        alone = await clash_item(session, Item.model_validate(PAIR), seed=3)
    assert alone.model_dump(exclude={"spent_usd"}) == of_run.model_dump(exclude={"spent_usd"}) | {
        "votes": tuple(
            {**vote, "latency_s": mine.latency_s}
            for vote, mine in zip(of_run.model_dump()["votes"], alone.votes, strict=True)
        )
    }


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["Why?"], "responses are judged"),
        ([{"id": "q"}], "the item is not valid"),
        ([PAIR, PAIR | {"question": "How?"}], "two different items have the id"),
    ],
)
async def test_what_is_no_item_is_refused(items, message):
    async with Session(judges()) as session:
        with pytest.raises(InputError, match=message):
            await clash(session, items)
