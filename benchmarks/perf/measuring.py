"""How everything here is measured: commands and servers in processes of their own, and where figures are kept."""

import contextlib
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from metajudge.errors import MetajudgeError

METAJUDGE = ("-m", "metajudge")

JsonOut: TypeAlias = Annotated[Path | None, typer.Option("--json-out")]
Process: TypeAlias = "subprocess.Popen[bytes]"


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that has ended: what it printed, its CPU seconds (user and system), and its highest resident memory."""

    printed: str
    cpu_s: float
    peak_mb: float


def finished(
    words: Sequence[str],
    folder: Path | None = None,
    *,
    codes: Collection[int] = (0,),
    environment: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> Finished:
    """Runs Python with arguments, in a folder.

    Raises:
        MetajudgeError: it ended with another code than these.
    """
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as log:
        process = subprocess.Popen([python, *words], cwd=folder, env=environment, stdout=printed, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (printed, log):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    if process.returncode not in codes:
        raise MetajudgeError(f"{' '.join(words)} ended with {process.returncode}: {texts[1][-500:]}")
    return Finished(texts[0], usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def machine() -> str:
    """Processors and Python."""
    return f"{os.cpu_count()} CPUs, Python {platform.python_version()}"


def keep(found: Any, out: Path | None, indent: int = 2) -> None:
    """Writes figures as JSON where a file is named."""
    if out is not None:
        out.write_text(json.dumps(found, indent=indent) + "\n", "utf-8")


def free_port() -> int:
    """A free port."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def listening(
    words: Sequence[str], port: int, log: Path, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[Process]:
    """Python with arguments, in a folder, once it listens on a port; it is stopped at the end.

    Raises:
        SystemExit: it does not listen within a minute and a half.
    """
    with log.open("ab") as stream:
        command, variables = [sys.executable, *words], {**os.environ, **(environment or {})}
        one = subprocess.Popen(command, cwd=folder, env=variables, stdout=stream, stderr=stream)
    try:
        deadline = time.monotonic() + 90
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if one.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{' '.join(words)} does not listen:\n{log.read_text()[-2000:]}")
            time.sleep(0.1)
        yield one
    finally:
        one.terminate()
        one.wait(30)
