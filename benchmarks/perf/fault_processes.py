"""Faults around a process: its clock, its disk, its folder, its store, Ctrl-C and kill -9.

Each function starts a command in a folder, disturbs it, and returns the command's exit code.
"""

import ctypes
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from .fault_operations import Operation, command, execute, results_of, serving, start_job, started
from .measuring import Process

Disturbance: TypeAlias = Callable[[Operation, Path, str, Any], int]
"""Runs an operation in a folder against the URL of a server, and the server itself; the command's exit code."""

CLOCK = """
import sys, time
real, calls = time.time, 0
def jumping():
    global calls
    calls += 1
    return real() + (0 if calls < 40 else 86400 if calls % 2 else -86400)
time.time = jumping
from metajudge.cli import main
sys.argv[0] = "metajudge"
main()
"""
"""metajudge with a wall clock that goes wrong by a day, forwards and backwards, once a run is under way."""


def jump_clock(operation: Operation, folder: Path, url: str, _server: Any) -> int:
    """Runs a command while the wall clock jumps."""
    return execute(folder, [sys.executable, "-c", CLOCK, *operation.words(url)])


def fill_disk(limit: int) -> Disturbance:
    """Runs a command that may not write files larger than a limit, which fails it as a full disk does."""

    def disturb(operation: Operation, folder: Path, url: str, _server: Any) -> int:
        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return execute(folder, operation.command(url), limited)  # the log is far smaller

    return disturb


def fill_output(operation: Operation, folder: Path, url: str, _server: Any) -> int:
    """Runs a command with an output file whose disk is full, while the store's is not."""
    partial = folder / "out.jsonl.partial"
    partial.symlink_to("/dev/full")
    try:
        return operation.run(folder, url)
    finally:
        partial.unlink()


CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24


def _as_others_are() -> None:
    """Gives up root's right to write where the permissions say no; for other users nothing changes."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE)


def forbid_writing(operation: Operation, folder: Path, url: str, server: Any) -> int:
    """Runs in a folder that may not be written: a mapping cannot be kept there, and then not even a store."""
    (folder / "votes.csv").write_text("q,a,b,win\n1+1?,2,3,A\n")
    mapping = ["--map", "question=q,responses.A=a,responses.B=b,verdict=win,judge:=owl"]
    mode = folder.stat().st_mode
    with tempfile.TemporaryDirectory() as elsewhere:
        (folder / "log.txt").touch()
        mapped = command("vet", "votes.csv", *mapping, "--store", str(Path(elsewhere) / "s.db"))
        folder.chmod(0o555)
        try:
            codes = [execute(folder, words, _as_others_are) for words in (mapped, operation.command(url))]
        finally:
            folder.chmod(mode)
    if codes[0] != 0 or server.server.count:
        raise SystemExit(
            f"a mapping that cannot be kept ended the run ({codes[0]}), or models were asked without a store"
        )
    return codes[1]


def end_after(requests: int, signals: Sequence[signal.Signals]) -> Disturbance:
    """Sends signals to a command once so many requests have arrived, one while what the one before began goes on."""

    def disturb(operation: Operation, folder: Path, url: str, server: Any) -> int:
        process = started(folder, operation.command(url))
        _await(lambda: server.server.count >= requests, process)
        for one in signals:
            process.send_signal(one)
            time.sleep(0.05)
        return process.wait()

    return disturb


HOLDER = """
import sqlite3, sys
holder = sqlite3.connect("store.db", isolation_level=None)
holder.execute("PRAGMA locking_mode = EXCLUSIVE")
holder.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def lock_store(operation: Operation, folder: Path, url: str, server: Any) -> int:
    """Runs a command while another process has the store for itself alone."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], cwd=folder, **pipes)
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        code = operation.run(folder, url)
        if server.server.count:
            raise SystemExit("a run without its store asked models")
        return code
    finally:
        holder.kill()
        holder.communicate()


KILLED_EXPORT = """
import os, signal, sys
from metajudge.exports import cleaning
cleaning.drop_exact_duplicates = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from metajudge.cli import main
sys.argv[0] = "metajudge"
main()
"""
"""metajudge that is killed in the middle of an export, inside the transaction of a stage.

It asks no model, so no count of requests says how far it is, and a kill by the clock may come when it has ended.
"""


def kill_export(operation: Operation, folder: Path, url: str, _server: Any) -> int:
    """Exports, and is killed when some stages are done and one is half done."""
    return execute(folder, [sys.executable, "-c", KILLED_EXPORT, *operation.words(url)])


def kill_service(_operation: Operation, folder: Path, url: str, server: Any) -> int:
    """Kills the service in the middle of a job, starts it again and waits for the job."""
    with serving(folder, url) as (process, port):
        job = start_job(port, folder)
        _await(lambda: server.server.count >= 10, process)
        process.kill()
    with serving(folder, url) as (_, port):
        return results_of(port, job, folder)


def _await(happened: Callable[[], bool], process: Process) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("the process ended before it could be killed: raise the latency")
        time.sleep(0.01)
