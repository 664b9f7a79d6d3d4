import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from metajudge.errors import FailureKind
from metajudge.panels.config import panel_config
from metajudge.vetting.engine import Engine
from tests.doubles.fake_llama import gguf
from tests.doubles.judgments import judgment


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
