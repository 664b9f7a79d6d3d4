"""A process that uses a store, to be killed."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

STORE_TESTS = Path(__file__).parents[1] / "store"
PRELUDE = f"""
import asyncio, sys, time
sys.path.insert(0, {str(STORE_TESTS)!r})
from conftest import Records
from metajudge.errors import StoreError
from metajudge.store import RunRecord, open_store
records = Records()
path = sys.argv[1]
"""

WRITER = """
    async def main():
        store = await open_store(path)
        first = int(sys.argv[2]) * 1_000_000
        await store.start_run(RunRecord(f"run-{sys.argv[2]}", "vet", 1.0, "running", {}))
        async def one(n):
            store.record_call(records.call(n))
            judgment = records.judgment(n)
            await store.save_assessment(f"key-{n}", judgment, records.assessment(judgment, n), "run-1")
            print(n, flush=True)
        for start in range(first, first + 1_000_000, 20):
            await asyncio.gather(*[one(n) for n in range(start, start + 20)])
    asyncio.run(main())
"""
"""A script that saves calls and assessments without end and prints the number of each that was acknowledged.

Its second argument tells writers on one store apart.
"""


def script(body: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Runs code with ``records``, ``open_store`` and ``path``, its first argument."""
    code = PRELUDE + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        **options,
    )


def killed(*processes: subprocess.Popen[str], lines: int) -> list[int]:
    """Kills scripts of :data:`WRITER` once each has printed so many lines; the numbers that were acknowledged."""
    acknowledged = [int(one.stdout.readline()) for one in processes for _ in range(lines) if one.stdout]
    for one in processes:
        one.send_signal(signal.SIGKILL)
        rest = one.stdout.read() if one.stdout else ""  # communicate() passes over what readline() has buffered
        one.communicate()
        acknowledged += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    return acknowledged
