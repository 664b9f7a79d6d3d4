"""Which service owns a store's file, for those who find it in use."""

import os
import subprocess
import sys

import pytest

from metajudge.store.owner import announce, owner_url, withdraw
from tests.api.service_process import process

URL = "http://127.0.0.1:8080"


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store.duckdb"


def test_the_process_that_has_the_store_is_found_by_its_note(store, monkeypatch):
    announce(store, URL)
    assert owner_url(store, os.getpid()) == URL
    monkeypatch.chdir(store.parent)
    assert owner_url(type(store)("store.duckdb"), os.getpid()) == URL
    withdraw(store)
    assert owner_url(store, os.getpid()) is None


def test_a_note_left_behind_by_a_killed_service_is_not_believed(store):
    announce(store, URL)
    assert owner_url(store, os.getpid() + 1) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "1", "url": "x"}', "null", "\xff"])
def test_a_note_that_cannot_be_read_is_none(store, text):
    (store.parent / "store.duckdb.owner").write_bytes(text.encode("latin-1"))
    assert owner_url(store, os.getpid()) is None


def test_another_process_s_note_stays(store):
    (store.parent / "store.duckdb.owner").write_text('{"pid": 1, "url": "http://127.0.0.1:1"}')
    withdraw(store)
    assert owner_url(store, 1) == "http://127.0.0.1:1"


def command(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "metajudge", *arguments], cwd=folder, capture_output=True, text=True, timeout=60
    )


@pytest.mark.slow
def test_commands_read_the_store_of_a_service_and_vet_says_where_to_ask(tmp_path):
    with process(tmp_path) as (service, client):
        for arguments in (["runs"], ["review", "list"], ["outcomes", "list"]):
            said = command(tmp_path, *arguments, "--store", "s.duckdb")
            assert said.returncode == 0, said.stderr
        (tmp_path / "one.jsonl").write_text(
            '{"id": "j", "judge": "a", "item": {"id": "i", "question": "q", "responses": {"A": "1", "B": "2"}}, '
            '"verdict": "A>B"}\n'
        )
        said = command(tmp_path, "vet", "one.jsonl", "--strategy", "signals", "--store", "s.duckdb")
        assert said.returncode == 2
        assert f"in use by the service at {str(client.base_url).rstrip('/')} (process {service.pid})" in said.stderr
        assert "POST /v1/vet" in said.stderr
        assert "Traceback" not in said.stderr
        assert client.get("/assessments").status_code == 200  # the pages that the message names are there
        assert "vet --server" not in client.get("/assessments").text + client.get("/dashboard").text
    assert not (tmp_path / "s.duckdb.owner").exists()
    assert not (tmp_path / "s.duckdb.socket").exists()
    assert command(tmp_path, "runs", "--store", "s.duckdb").returncode == 0
