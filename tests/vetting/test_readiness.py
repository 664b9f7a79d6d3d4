"""Checks of what a run needs: what is wrong is found, and keys are never shown."""

import os
import sqlite3
import time
from pathlib import Path

from metajudge.panels.config import panel_config
from metajudge.settings import Settings
from metajudge.store import RunRecord, open_store
from metajudge.types.location import PostgresUrl
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


async def test_a_store_in_use_opens_and_one_that_is_damaged_newer_or_old_is_an_error_that_says_so(tmp_path):
    path = tmp_path / "store.db"
    store = await open_store(path)
    try:
        assert states(await checks.check_store(path, time.time())) == [("store", "ok")]
    finally:
        await store.close()
    damaged = tmp_path / "damaged.db"
    content = bytearray(path.read_bytes())
    content[4_096 * 3 : 4_096 * 30] = os.urandom(4_096 * 27)
    damaged.write_bytes(content)
    (found,) = await checks.check_store(damaged, time.time())
    assert (found.state, "damaged" in found.finding) == ("error", True), found
    newer = sqlite3.connect(path)
    with newer:
        newer.execute("INSERT INTO migrations VALUES (9999, 'later')")
    newer.close()
    (found,) = await checks.check_store(path, time.time())
    assert (found.state, "newer metajudge" in found.finding) == ("error", True), found
    old = tmp_path / "old.duckdb"
    old.write_bytes(b"12345678DUCK" + bytes(100))
    (found,) = await checks.check_store(old, time.time())
    assert (found.state, f"metajudge store copy {old} {tmp_path / 'old.db'}" in found.finding) == ("error", True), found


def test_a_store_on_a_network_drive_is_warned_of(tmp_path):
    mounts = tmp_path / "mounts"
    here = str(tmp_path).replace(" ", "\\040")
    for kind, place, found in (("ext4", here, []), ("nfs4", here, [("store", "warning")]), ("nfs4", here + "x", [])):
        mounts.write_text(f"/dev/root / ext4 rw 0 0\nserver:/share {place} {kind} rw 0 0\n")
        assert states(checks.check_drive(tmp_path / "store.db", mounts)) == found
    assert states(checks.check_drive(PostgresUrl("postgresql://db/x"), mounts)) == []


async def test_a_file_that_is_no_store_is_an_error_and_a_missing_one_a_note(tmp_path):
    path = tmp_path / "store.db"
    assert states(await checks.check_store(path, time.time())) == [("store", "note")]
    path.write_text("no database at all, but long enough to be looked at " * 100)
    assert states(await checks.check_store(path, time.time())) == [("store", "error")]


async def test_a_run_from_the_future_means_that_the_clock_is_behind(tmp_path):
    store = await open_store(tmp_path / "store.db")
    await store.start_run(RunRecord("r", "vet", time.time() + 7200, "finished", {}, finished_at=time.time() + 7300))
    await store.close()
    found = await checks.check_store(tmp_path / "store.db", time.time())
    assert ("clock", "warning") in states(found)


def test_a_clock_before_the_installation_is_an_error():
    installed = Path(checks.__file__).stat().st_mtime
    assert next(checks.check_clock(installed - 86_400)).state == "error"
    assert next(checks.check_clock(installed + 10)).state == "ok"


def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    for free, state in ((1 << 40, "ok"), (500 << 20, "warning"), (1 << 20, "error")):
        usage = os.terminal_size((0, 0)), free
        monkeypatch.setattr(checks.shutil, "disk_usage", lambda _folder, free=usage[1]: type("U", (), {"free": free}))
        assert next(checks.check_disk(tmp_path / "deep" / "store.db")).state == state


def test_reaching_an_endpoint_sends_no_key_and_a_dead_one_is_an_error(tmp_path):
    with LLMServer(faults=["404"]) as server:
        panel = panel_config(
            {"agents": [{"model": f"openai:a@{server.url}"}, {"model": "openai:b@http://127.0.0.1:9"}]}
        )
        found = list(checks.check_online(settings(tmp_path, OPENAI_API_KEY=SECRET), panel, time.time()))
        assert SECRET not in repr([request.headers for request in server.requests])
    assert [check.state for check in found if check.name == "online"] == ["ok", "error"]
    assert "Check network, proxy and base URL" in found[-1].finding
