"""Local models: one process a file, started with the first call, and never left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from metajudge.errors import ConfigurationError, FailureKind
from metajudge.panels.config import panel_config
from metajudge.providers import local_server
from metajudge.providers.prices import find_price
from metajudge.providers.spec import parse_agent_spec
from metajudge.types import Usage
from metajudge.vetting.engine import Engine
from tests.doubles.fake_llama import gguf, install_fake
from tests.doubles.judgments import judgment


@pytest.fixture
def fake(tmp_path, monkeypatch):
    folder = install_fake(tmp_path / "fake")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


@pytest.fixture
def started(monkeypatch):
    """The processes started, in order."""
    processes = []
    real = subprocess.Popen

    def popen(*arguments, **options):
        process = real(*arguments, **options)
        if "metajudge.providers.local_child" in arguments[0]:
            processes.append(process)
        return process

    monkeypatch.setattr(local_server.subprocess, "Popen", popen)
    return processes


class TestSpec:
    def test_an_agent_is_called_after_its_file(self):
        spec = parse_agent_spec("local:/models/Tiny-1B.Q4.gguf")
        assert (spec.name, spec.model, spec.is_local) == ("Tiny-1B.Q4", "/models/Tiny-1B.Q4.gguf", True)
        assert parse_agent_spec("t=local:a/b.gguf").name == "t"
        assert parse_agent_spec(r"local:C:\models\tiny.gguf").name == "tiny"

    def test_it_has_no_url_and_costs_nothing(self):
        with pytest.raises(ConfigurationError, match="has no URL: write local:PATH"):
            parse_agent_spec("local:a.gguf@http://localhost:1")
        assert find_price(parse_agent_spec("local:a.gguf")).cost(Usage(10, 0, 0, 10)) == 0


class TestMistakes:
    async def test_a_missing_file_and_a_file_that_is_no_model_are_refused_before_anything_starts(
        self, tmp_path, fake, started
    ):
        (tmp_path / "m.gguf").write_bytes(b"PK\x03\x04 a zip file")
        (tmp_path / "empty.gguf").write_bytes(b"")
        for name, said in (
            ("none.gguf", "no such file"),
            ("m.gguf", "is not a GGUF file"),
            ("empty.gguf", "it is empty"),
            ("", "is a folder"),
        ):
            with pytest.raises(ConfigurationError, match=said):
                async with Engine([f"m=local:{tmp_path / name}"]):
                    pass
        assert not started

    async def test_the_missing_package_says_how_to_install_it(self, tmp_path, monkeypatch):
        from metajudge.providers import local

        monkeypatch.setattr(local, "find_spec", lambda _name: None)
        with pytest.raises(ConfigurationError, match=r"xllamacpp: pip install"):
            async with Engine([f"local:{gguf(tmp_path / 'm.gguf')}"]):
                pass

    async def test_a_model_that_cannot_be_loaded_says_what_llama_said_and_leaves_no_process(
        self, tmp_path, fake, started
    ):
        with pytest.raises(ConfigurationError, match=r"cannot serve .*tensor missing"):
            async with Engine([f"local:{gguf(tmp_path / 'm.gguf', 'broken')}"]) as engine:
                await engine.vet(judgment())
        assert [process.poll() is not None for process in started] == [True]


class TestLife:
    async def test_one_process_a_file_however_many_agents_and_calls(self, tmp_path, fake, started):
        path = gguf(tmp_path / "m.gguf")
        agents = [
            {"name": "a", "model": f"local:{path}"},
            {"name": "b", "model": f"local:{path}", "rubric": "long"},
            {"name": "c", "model": f"local:{tmp_path}/../{tmp_path.name}/m.gguf", "rubric": "baseline"},
        ]
        async with Engine(panel=panel_config({"agents": agents})) as engine:
            assert not started  # nothing is started before it is asked
            found = await asyncio.gather(*(engine.vet(judgment(f"j{n}")) for n in range(5)))
            assert len(started) == 1
            assert started[0].poll() is None
            assert engine.meter.sent == 15
        assert started[0].poll() is not None
        assert all(one.accepted for one in found)
        assert found[0].cost_usd == 0
        assert found[0].agents[0].model.startswith("m#")

    async def test_stored_replies_belong_to_the_file_whatever_its_port(self, tmp_path, fake, started):
        path, store = gguf(tmp_path / "m.gguf"), tmp_path / "store.duckdb"
        digests = []
        for content in ("weights", "weights", "other weights"):
            gguf(path, content)
            async with Engine([f"local:{path}"], store=store) as engine:
                digests.append((await engine.vet(judgment())).panel_digest)
        assert digests[0] == digests[1] != digests[2]
        assert len(started) == 2  # the second run found everything in the store

    async def test_it_ends_on_failure(self, tmp_path, fake, started):
        with pytest.raises(RuntimeError, match="on purpose"):  # noqa: PT012 - the failure is inside the run
            async with Engine([f"local:{gguf(tmp_path / 'm.gguf')}"]) as engine:
                await engine.vet(judgment())
                raise RuntimeError("on purpose")
        assert started[0].poll() is not None

    async def test_a_server_that_dies_is_a_recorded_failure_and_not_started_again(self, tmp_path, fake, started):
        panel = panel_config(
            {
                "agents": [{"model": f"local:{gguf(tmp_path / 'm.gguf', 'dies')}"}],
                "retry": {"attempts": 2, "total_s": 5},
            }
        )
        async with Engine(panel=panel) as engine:
            found = await engine.vet(judgment())
        assert found.agents[0].failure.kind is FailureKind.CONNECTION
        assert len(started) == 1

    @pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
    def test_whatever_ends_the_run_ends_the_server(self, tmp_path, fake, how):
        """A stand-in of a run: a parent that starts a server, tells its process id, and hangs."""
        path = gguf(tmp_path / "m.gguf")
        code = (
            "import asyncio\n"
            "from pathlib import Path\n"
            "from metajudge.providers.local_server import LocalServers\n"
            "async def main():\n"
            "    servers = LocalServers()\n"
            f"    server = servers.of(Path({str(path)!r}), 'm')\n"
            "    await server.client()\n"
            "    print(server.pid, flush=True)\n"
            "    await asyncio.sleep(60)\n"
            "asyncio.run(main())\n"
        )
        parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        child = int(parent.stdout.readline())
        parent.stdout.close()
        assert _runs(child)
        parent.send_signal(how)
        parent.wait(20)
        deadline = time.monotonic() + 10
        while _runs(child) and time.monotonic() < deadline:
            time.sleep(0.05)
        left = _runs(child)
        if left:
            os.kill(child, signal.SIGKILL)
        assert not left


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"  # a zombie has ended; its parent is gone
    except FileNotFoundError:
        return False
    except OSError:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True
