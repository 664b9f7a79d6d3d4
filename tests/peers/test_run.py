"""``run_peers`` over a session: models from scripts, files, and how runs end."""

import json

import pytest
from pydantic import ValidationError

from metajudge.errors import ConfigurationError, InputError, ModelTimeoutError
from metajudge.peers import Ballot, counted_ballots, read_ballots
from metajudge.peers.run import PeersTotals, run_peers
from metajudge.providers.scripted import ScriptedModel
from metajudge.runs.loop import RunEnd, Stop
from metajudge.session import Session
from tests.doubles.ranking import reply, shown
from tests.peers.elections import failed

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


async def test_the_domain_chooses_the_criteria_and_models_given_for_the_run_are_asked():
    async with Session(peers()) as session:
        found = await run_peers(session, QUESTIONS)
    assert {one.question_id: one.meta.get("criteria") for one in found.ballots if one.domain == "math"} == {
        "q2": "math"
    }
    assert sum(one.domain is None for one in found.ballots) == 3
    async with Session([peer("ant")]) as session:
        found = await run_peers(session, ["Why?"], models=[peer("bee"), peer("cow")])
    assert {one.evaluator for one in found.ballots} == {"bee", "cow"}


async def test_a_stop_between_the_rounds_asks_for_no_ballot_and_one_model_has_no_peers():
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
    async with Session([peer("ant")]) as session:
        with pytest.raises(ConfigurationError, match="at least two models"):
            await run_peers(session, ["Why?"])


# Reading ballots: the accepted forms, attempts, and every kind of bad line.
def write(path, *lines):
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def line(question="q", evaluator="m1", ranking=("m2", ["m1", "m3"]), **more):
    return {"question_id": question, "evaluator": evaluator, "ranking": ranking, **more}


class TestBallot:
    def test_a_line_written_is_read_back(self):
        ballot = Ballot(**line(labels={"A0": "m1", "A1": "m3", "A2": "m2"}, seed=3, cost_usd=0.01, key="k"))
        assert Ballot.model_validate_json(ballot.model_dump_json(exclude_none=True)) == ballot

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"ranking": ["a", "b", "a"]}, "names 'a' more than once"),
            ({"ranking": [["a", "b"], "b"]}, "names 'b' more than once"),
            ({"ranking": []}, "ranking is empty"),
            ({"ranking": ["a", []]}, "at least 1 item"),
            ({"ranking": ["a", ""]}, "at least 1 character"),
            ({"ranking": ["a", 3]}, "valid"),
            ({"ranking": "a > b"}, "valid tuple"),
            ({"ranking": ["a", "x"], "candidates": ["a", "b"]}, "names 'x', which is not among the candidates"),
            ({"candidates": ["m1", "m1", "m2", "m3"]}, "names 'm1' more than once"),
            ({"labels": {"A": "m1"}, "candidates": ["m2"]}, "different candidates"),
            ({"ranking": None}, "give status failed"),
            ({"status": "failed"}, "failure"),
            ({"failure": {"kind": "timeout", "message": "late"}}, "status failed"),
            ({"cost_usd": float("nan")}, "finite"),
            ({"cost_usd": -1.0}, "greater than or equal to 0"),
            ({"surprise": 1}, "Extra inputs"),
            ({"evaluator": " "}, "match pattern"),
            ({"version": 2}, "Input should be 1"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, changes, message):
        with pytest.raises(ValidationError, match=message):
            Ballot(**{**line(), **changes})

    def test_a_failed_ballot_has_no_ranking(self):
        with pytest.raises(ValidationError, match="no ranking"):
            Ballot(**line(status="failed", failure={"kind": "timeout", "message": "late"}))


class TestFile:
    def test_a_failure_gives_way_to_a_ranking_before_or_after_it(self, tmp_path):
        lost = failed("q", "m1").model_dump(mode="json", exclude_none=True)
        for attempts in ((lost, line(attempt=2)), (line(), lost)):
            (ballot,) = read_ballots(write(tmp_path / "b.jsonl", *attempts)).ballots
            assert ballot.status == "ok"

    def test_two_rankings_of_one_question_by_one_evaluator_never_count_twice(self, tmp_path):
        path = write(tmp_path / "b.jsonl", line(), line(ranking=["m1", "m2", "m3"]))
        with pytest.raises(InputError, match=r"b\.jsonl:2: evaluator 'm1' ranks question 'q' twice"):
            read_ballots(path)

    def test_the_same_line_twice_is_refused_unless_it_is_known_to_be_the_same_ballot(self, tmp_path):
        with pytest.raises(InputError, match="twice"):
            read_ballots(write(tmp_path / "b.jsonl", line(), line()))
        found = read_ballots(write(tmp_path / "c.jsonl", line(key="k"), line(key="k", ranking=["m2", ["m3", "m1"]])))
        assert len(found.ballots) == 1
        with pytest.raises(InputError, match="twice"):
            read_ballots(write(tmp_path / "d.jsonl", line(key="k"), line(key="k", ranking=["m1", "m2", "m3"])))

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ([], "contains no ballot: it is empty"),
            (["", ""], "contains no ballot: it is empty"),
            ([{"id": "x", "question": "?"}], r'contains no ballot; .*b\.jsonl:1: .*"ranking": \["m2"'),
        ],
    )
    def test_a_file_without_any_ballot_is_an_error(self, tmp_path, lines, message):
        with pytest.raises(InputError, match=message):
            read_ballots(write(tmp_path / "b.jsonl", *lines))

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(InputError, match="cannot read"):
            read_ballots(tmp_path / "none.jsonl")

    def test_nan_is_no_json(self, tmp_path):
        found = read_ballots(write(tmp_path / "b.jsonl", line(), json.dumps(line("q2", cost_usd=float("nan")))))
        assert "NaN" in found.rejects[0].reason


def test_counted_ballots_are_the_last_attempt_that_succeeded():
    attempts = [failed("q", "m1"), Ballot(**line(), attempt=2), failed("q", "m2")]
    assert [one.status for one in counted_ballots(attempts)] == ["ok", "failed"]
