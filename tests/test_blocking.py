"""`vet()` for scripts and notebooks."""

import asyncio
import threading

import pytest

from metajudge import vet
from metajudge.blocking import run
from metajudge.errors import InputError
from tests.doubles.judgments import judgment


class TestInANotebook:
    """A notebook's cells run inside a running event loop."""

    async def test_vet_works_where_a_loop_is_running(self, tmp_path):
        plain = judgment().model_dump(mode="json")
        first = vet(plain, store=tmp_path / "store.duckdb")
        again = vet([plain, plain], store=tmp_path / "store.duckdb")  # the store was closed
        assert [one.final_score for one in again] == [first.final_score] * 2
        assert not [thread for thread in threading.enumerate() if thread.name == "metajudge"]

    async def test_an_error_comes_out_as_itself(self):
        with pytest.raises(InputError, match="judgment 1 is not valid: missing field"):
            vet([{"id": "j-1"}])

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


class TestInAScript:
    def test_one_and_several(self):
        one = vet(judgment("a"))
        assert vet([judgment("a")]) == [one]

    def test_no_judgment_at_all_says_what_is_wrong(self):
        with pytest.raises(InputError, match="judgment 1 is a str"):
            vet("j")
