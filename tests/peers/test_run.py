"""``run_peers`` over a session: models from scripts, files, and how runs end."""

import json

import pytest

from metajudge.errors import ConfigurationError, InputError, ModelTimeoutError
from metajudge.panels.config import panel_config
from metajudge.peers.run import PeersTotals, answers_path, run_peers
from metajudge.providers.scripted import ScriptedModel
from metajudge.runs.loop import RunEnd, Stop
from metajudge.session import Session
from tests.doubles.ranking import reply, shown

LENGTH = {"ant": 30, "bee": 20, "cow": 10}
QUESTIONS = ["Why?", {"id": "q2", "question": "How?", "category": "math", "reference": "so"}]


def peer(name, fails=0):
    """Answers with a text of its own length, and ranks the longest first; cannot be asked ``fails`` times."""
    left = [ModelTimeoutError("late")] * fails

    def script(request):
        if left:
            return left.pop()
        if request.schema is None:
            return "x" * LENGTH[name]
        texts = shown(request)
        return reply(request, sorted(texts, key=lambda label: len(texts[label]), reverse=True))

    return ScriptedModel(script, name=name)


def peers(**options):
    return [peer(name, **options) for name in LENGTH]


async def test_the_domain_of_a_question_chooses_the_criteria():
    async with Session(peers()) as session:
        found = await run_peers(session, QUESTIONS)
    assert {one.question_id: one.meta.get("criteria") for one in found.ballots if one.domain == "math"} == {
        "q2": "math"
    }
    assert sum(one.domain is None for one in found.ballots) == 3


async def test_models_given_for_the_run_are_asked_in_place_of_the_sessions():
    async with Session([peer("ant")]) as session:
        found = await run_peers(session, ["Why?"], models=[peer("bee"), peer("cow")])
    assert {one.evaluator for one in found.ballots} == {"bee", "cow"}


async def test_the_files_hold_every_attempt_and_a_second_run_asks_nothing(tmp_path):
    out, models, seen = tmp_path / "b.jsonl", peers(), []
    results = []
    for _ in range(2):
        async with Session(models) as session:
            results.append(
                await run_peers(session, QUESTIONS, out=out, on_result=lambda _, reused: seen.append(reused))
            )
    assert seen == [False] * 12 + [True] * 12
    assert sum(len(one.requests) for one in models) == 12
    assert results[0].ballots == results[1].ballots
    assert results[1].totals.reused == 12
    assert [len(path.read_text().splitlines()) for path in (out, answers_path(out))] == [6, 6]


async def test_who_could_not_be_asked_is_counted_and_asked_again(tmp_path):
    out = tmp_path / "b.jsonl"
    once = panel_config({"retry": {"attempts": 1}})
    late = [peer("ant"), peer("bee"), peer("cow", fails=1)]
    async with Session(late, panel=once) as session:
        first = await run_peers(session, ["Why?"], out=out)
    assert first.totals.lost_by_model == {"cow": {"timeout": 1}}
    assert (first.totals.exit_code, first.totals.to_json()["failures"]) == (1, {"timeout": 1})
    async with Session(late, panel=once) as session:
        second = await run_peers(session, ["Why?"], out=out)
    assert (second.totals.exit_code, second.totals.answers, second.totals.ballots) == (0, 3, 3)
    assert [one.attempt for one in second.ballots] == [2, 2, 2], "the missing answer came: ranked anew"
    attempts = [json.loads(line)["attempt"] for line in answers_path(out).read_text().splitlines()]
    assert attempts == [1, 1, 1, 2]


async def test_another_seed_in_the_same_file_is_refused(tmp_path):
    out = tmp_path / "b.jsonl"
    async with Session(peers()) as session:
        await run_peers(session, ["Why?"], out=out)
        with pytest.raises(InputError, match="made with other settings"):
            await run_peers(session, ["Why?"], out=out, seed=1)


async def test_a_stop_between_the_rounds_asks_for_no_ballot():
    stop, totals = Stop(), PeersTotals()
    models = peers()
    async with Session(models, concurrency=1) as session:
        found = await run_peers(
            session,
            QUESTIONS,
            totals=totals,
            stop=stop,
            on_result=lambda *_: stop.ask(RunEnd.INTERRUPTED) if totals.answers == 6 else None,
        )
    assert (totals.end, totals.answers, totals.exit_code, found.ballots) == (RunEnd.INTERRUPTED, 6, 130, ())


async def test_one_model_has_no_peers():
    async with Session([peer("ant")]) as session:
        with pytest.raises(ConfigurationError, match="at least two models"):
            await run_peers(session, ["Why?"])
