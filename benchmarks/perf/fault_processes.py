"""Faults around a process: its clock, its disk, its folder, its store, Ctrl-C and kill -9.

Each function starts a command in a folder, disturbs it, and returns the command's exit code.
"""

import ctypes
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .fault_operations import (
    Process,
    ask,
    command,
    execute,
    export_command,
    finished_job,
    start_service,
    started,
    vet_command,
)

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


def jump_clock(folder: Path, url: str, _server: Any) -> int:
    """Vets while the wall clock jumps."""
    return execute(folder, [sys.executable, "-c", CLOCK, *vet_command(url)[3:]])


def fill_disk(arguments: Callable[[str], list[str]], limit: int) -> Callable[[Path, str, Any], int]:
    """Runs a command that may not write files larger than a limit, which fails it as a full disk does."""

    def disturb(folder: Path, url: str, _server: Any) -> int:
        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return execute(folder, arguments(url), limited)  # the log may not grow past it either; it is far smaller

    return disturb


def fill_output(folder: Path, url: str, _server: Any) -> int:
    """Vets with an output file whose disk is full, while the store's is not."""
    partial = folder / "out.jsonl.partial"
    partial.symlink_to("/dev/full")
    try:
        return execute(folder, vet_command(url))
    finally:
        partial.unlink()


CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24


def _as_others_are() -> None:
    """Gives up root's right to write where the permissions say no; for other users nothing changes."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE)


def forbid_writing(folder: Path, url: str, server: Any) -> int:
    """Runs in a folder that may not be written: a mapping cannot be kept there, and then not even a store."""
    (folder / "votes.csv").write_text("q,a,b,win\n1+1?,2,3,A\n")
    mapping = ["--map", "question=q,responses.A=a,responses.B=b,verdict=win,judge:=owl"]
    mode = folder.stat().st_mode
    with tempfile.TemporaryDirectory() as elsewhere:
        (folder / "log.txt").touch()
        mapped = command("vet", "votes.csv", *mapping, "--store", str(Path(elsewhere) / "s.db"))
        folder.chmod(0o555)
        try:
            codes = [execute(folder, words, _as_others_are) for words in (mapped, vet_command(url))]
        finally:
            folder.chmod(mode)
    if codes[0] != 0 or server.server.count:
        raise SystemExit(
            f"a mapping that cannot be kept ended the run ({codes[0]}), or models were asked without a store"
        )
    return codes[1]


def interrupt_twice(arguments: Callable[[str], list[str]], after: int) -> Callable[[Path, str, Any], int]:
    """Presses Ctrl-C once so many requests have arrived, and again while the calls in flight are awaited."""

    def disturb(folder: Path, url: str, server: Any) -> int:
        process = started(folder, arguments(url))
        _await(lambda: server.server.count >= after, process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
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


def lock_store(arguments: Callable[[str], list[str]]) -> Callable[[Path, str, Any], int]:
    """Runs a command while another process has the store for itself alone."""

    def disturb(folder: Path, url: str, server: Any) -> int:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        holder = subprocess.Popen([sys.executable, "-c", HOLDER], cwd=folder, **pipes)
        try:
            assert holder.stdout is not None
            holder.stdout.readline()
            code = execute(folder, arguments(url))
            if server.server.count:
                raise SystemExit("a run without its store asked models")
            return code
        finally:
            holder.kill()
            holder.communicate()

    return disturb


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


def kill_export(folder: Path, _url: str, _server: Any) -> int:
    """Exports, and is killed when some stages are done and one is half done."""
    return execute(folder, [sys.executable, "-c", KILLED_EXPORT, *export_command()[3:]])


def kill_client(arguments: Callable[[str], list[str]], after: int) -> Callable[[Path, str, Any], int]:
    """Kills a command once so many requests have arrived."""

    def disturb(folder: Path, url: str, server: Any) -> int:
        process = started(folder, arguments(url))
        _await(lambda: server.server.count >= after, process)
        process.kill()
        return process.wait()

    return disturb


def kill_service(folder: Path, url: str, server: Any) -> int:
    """Kills the service in the middle of a job, starts it again and waits for the job."""
    process, port = start_service(folder, url)
    try:
        job = ask(port, "/v1/vet/batch", (folder / "judgments.jsonl").read_bytes())["job_id"]
        _await(lambda: server.server.count >= 10, process)
        process.kill()
        process.wait()
        process, port = start_service(folder, url)
        state = finished_job(port, job)
        results = ask(port, f"/v1/jobs/{job}/results")
        (folder / "out.jsonl").write_text("".join(json.dumps(one) + "\n" for one in results))
        return 0 if state == "done" else 1
    finally:
        process.terminate()
        process.wait(20)


def _await(happened: Callable[[], bool], process: Process) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("the process ended before it could be killed: raise the latency")
        time.sleep(0.01)
