"""Checks of what a run needs: what is wrong is found, and keys are never shown."""

import os
import time
from pathlib import Path

from metajudge.panels.config import panel_config
from metajudge.settings import Settings
from metajudge.store import RunRecord, open_store
from metajudge.vetting import readiness as checks
from tests.doubles.llm_server import LLMServer

SECRET = "sk-very-secret-0001"


def settings(tmp_path, **environ):
    return Settings.load(environ={"HOME": str(tmp_path), **environ})


def states(found):
    return [(check.name, check.state) for check in found]


def test_every_extra_of_the_package_is_looked_at():
    from importlib.metadata import metadata

    declared = set(metadata(checks.PACKAGE).get_all("Provides-Extra")) - {"dev"}
    assert declared <= set(checks.EXTRAS) | {"docs"}


def test_keys_are_named_by_provider_and_never_shown(tmp_path):
    panel = panel_config({"agents": [{"model": "openai:a"}, {"model": "anthropic:b"}, {"model": "ollama:c"}]})
    found = list(checks.check_keys(settings(tmp_path, OPENAI_API_KEY=SECRET), panel))
    assert states(found) == [("keys", "ok"), ("keys", "error")]
    assert "openai" in found[0].finding
    assert "ANTHROPIC_API_KEY" in found[1].finding
    assert SECRET not in repr(found)


async def test_a_store_in_use_is_an_error_that_says_by_whom(tmp_path):
    path = tmp_path / "store.duckdb"
    store = await open_store(path)
    try:
        (found,) = await checks.check_store(path, time.time())
    finally:
        await store.close()
    assert found.state == "error"
    assert "in use" in found.finding
    assert (await checks.check_store(path, time.time()))[0].state == "ok"


async def test_a_file_that_is_no_store_is_an_error_and_a_missing_one_a_note(tmp_path):
    path = tmp_path / "store.duckdb"
    assert states(await checks.check_store(path, time.time())) == [("store", "note")]
    path.write_text("no database at all, but long enough to be looked at " * 100)
    assert states(await checks.check_store(path, time.time())) == [("store", "error")]


async def test_a_run_from_the_future_means_that_the_clock_is_behind(tmp_path):
    store = await open_store(tmp_path / "store.duckdb")
    await store.start_run(RunRecord("r", "vet", time.time() + 7200, "finished", {}, finished_at=time.time() + 7300))
    await store.close()
    found = await checks.check_store(tmp_path / "store.duckdb", time.time())
    assert ("clock", "warning") in states(found)


def test_a_clock_before_the_installation_is_an_error():
    installed = Path(checks.__file__).stat().st_mtime
    assert next(checks.check_clock(installed - 86_400)).state == "error"
    assert next(checks.check_clock(installed + 10)).state == "ok"


def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    for free, state in ((1 << 40, "ok"), (500 << 20, "warning"), (1 << 20, "error")):
        usage = os.terminal_size((0, 0)), free
        monkeypatch.setattr(checks.shutil, "disk_usage", lambda _folder, free=usage[1]: type("U", (), {"free": free}))
        assert next(checks.check_disk(tmp_path / "deep" / "store.duckdb")).state == state


def test_reaching_an_endpoint_sends_no_key_and_a_dead_one_is_an_error(tmp_path):
    with LLMServer(faults=["404"]) as server:
        panel = panel_config(
            {"agents": [{"model": f"openai:a@{server.url}"}, {"model": "openai:b@http://127.0.0.1:9"}]}
        )
        found = list(checks.check_online(settings(tmp_path, OPENAI_API_KEY=SECRET), panel, time.time()))
        assert SECRET not in repr([request.headers for request in server.requests])
    assert [check.state for check in found if check.name == "online"] == ["ok", "error"]
    assert "Check network, proxy and base URL" in found[-1].finding
