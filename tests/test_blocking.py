"""The functions for scripts and notebooks."""

import asyncio
import threading

import pytest

from metajudge import clash, grade, judge, judge_case, run_peers, vet
from metajudge.blocking import run
from metajudge.errors import BatchPendingError, BudgetExceeded, ConfigurationError, InputError
from metajudge.providers.scripted import ScriptedModel
from metajudge.runs.loop import RunEnd
from tests.doubles.cases import ANALYSIS, RELEVANCE, flood
from tests.doubles.cases import reply as case_reply
from tests.doubles.judging import item, prefers, verdict
from tests.doubles.judgments import judgment
from tests.doubles.judgments import reply as score
from tests.doubles.ranking import ranks_by


class TestInANotebook:
    """A notebook's cells run inside a running event loop."""

    async def test_vet_works_where_a_loop_is_running(self, tmp_path):
        plain = judgment().model_dump(mode="json")
        first = vet(plain, store=tmp_path / "store.duckdb")
        again = vet([plain, plain], store=tmp_path / "store.duckdb")  # the store was closed
        assert [one.final_score for one in again] == [first.final_score] * 2
        assert not [thread for thread in threading.enumerate() if thread.name == "metajudge"]

    async def test_an_interrupt_ends_the_work_and_lets_it_clean_up(self, monkeypatch):
        from concurrent.futures import Future

        started, cleaned = threading.Event(), threading.Event()

        async def long() -> None:
            started.set()
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0)
                cleaned.set()

        def interrupted(future: Future[None], timeout: float | None = None) -> None:
            assert started.wait(5)
            monkeypatch.undo()
            raise KeyboardInterrupt

        monkeypatch.setattr(Future, "result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(long())
        assert cleaned.is_set()


def stopping(reply, error, after):
    """A model that ends the run with an error after some replies."""
    asked = iter(range(10**6))
    return ScriptedModel(lambda request: error if next(asked) >= after else reply(request), name="m")


def case_scores(request):
    return case_reply(ANALYSIS if "completeness" in request.system else RELEVANCE)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vet([{"id": "j-1"}]), InputError, "judgment 1 is not valid: missing field"),
        (lambda: vet("j"), InputError, "cannot read j: No such file"),
        (lambda: judge(item()), ConfigurationError, "no model to ask"),
        (lambda: grade({"id": "i"}, [prefers("four")]), InputError, "item 1 is not valid"),
        (lambda: clash("Why?", [ranks_by(len)], quorums=2), TypeError, "quorums"),
        (lambda: run_peers(["Why?"], [ranks_by(len)]), ConfigurationError, "at least two models"),
    ],
)
async def test_an_error_comes_out_as_itself_also_in_a_notebook(call, error, message):
    with pytest.raises(error, match=message):
        call()


class TestRunsThatEndEarly:
    @pytest.mark.parametrize(
        ("error", "message"),
        [
            (BudgetExceeded("spent"), "the budget was reached after 1 of 3 judgments"),
            (BatchPendingError("pending"), "1 of 3 judgments are done. Batches are with their provider"),
        ],
    )
    def test_vetting_is_an_error(self, error, message):
        records = [judgment(name) for name in "abc"]
        with pytest.raises(type(error), match=message):
            vet(records, [stopping(lambda _: score(), error, after=1)], concurrency=1)

    def test_of_judging_the_budgets_end_is_in_the_totals(self):
        found = judge(item(), [stopping(lambda _: verdict(), BudgetExceeded("spent"), after=1)], concurrency=1)
        assert (found.totals.end, len(found.games)) == (RunEnd.BUDGET, 1)

    def test_a_case_is_an_error(self):
        judge = stopping(case_scores, BudgetExceeded("spent"), after=2)
        with pytest.raises(BudgetExceeded, match="after 1 of 2 cases"):
            judge_case([flood("c1"), flood("c2")], [judge], concurrency=1)
