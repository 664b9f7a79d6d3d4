"""Verdicts out of a real system and assessments back: pull, vet, push twice, and what the system's own client shows.

    python -m benchmarks.interop.round_trip mlflow|phoenix METAJUDGE

To be run by a Python that has the system (``pip install mlflow``; ``pip install arize-phoenix``); METAJUDGE is the
command of an installation of ours, which may be another environment. A server is started on a free port with an empty
folder, our cases are logged with the system's client, and the commands and their output are printed.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from . import make_mlflow, make_phoenix
from .cases import CASES


def main(system: str, command: str) -> None:
    """Runs and prints the round trip."""
    trip = {"mlflow": _mlflow, "phoenix": _phoenix}[system]
    with tempfile.TemporaryDirectory() as work:
        trip(command, Path(work))


def _mlflow(command: str, work: Path) -> None:
    os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"
    print(f"mlflow {version('mlflow')}, {len(CASES)} traces")
    with _mlflow_server(work) as address:
        mlflow: Any = import_module("mlflow")
        mlflow.set_tracking_uri(address)
        mlflow.set_experiment("interop")
        for case in CASES:
            make_mlflow.log(mlflow, case)
        _trip(command, "mlflow", work, ["--url", address], ["--project", "interop"])
        for trace in mlflow.search_traces(return_type="list"):
            for one in trace.info.assessments:
                print(f"  {trace.info.request_preview}: {one.name} by {one.source.source_id} = {one.value}")


def _phoenix(command: str, work: Path) -> None:
    print(f"arize-phoenix {version('arize-phoenix')}, {len(CASES)} spans")
    with make_phoenix.server(str(work)) as address:
        client: Any = import_module("phoenix.client").Client(base_url=address)
        names = make_phoenix.log(client)
        _trip(command, "phoenix", work, ["--url", address], [])
        for one in client.spans.get_span_annotations(span_ids=names, project_identifier="default"):
            said = one["result"]["label"] if one["result"]["label"] is not None else one["result"]["score"]
            print(f"  {one['span_id']}: {one['name']} by {one['annotator_kind']} = {said}")


def _trip(command: str, system: str, work: Path, at: list[str], project: list[str]) -> None:
    pull = ["pull", system, *at, *project, "--out", "pulled"]
    for words in (
        pull,
        ["vet", "pulled", "--out", "assessments.jsonl"],
        ["push", system, "assessments.jsonl", *at],
        ["push", system, "assessments.jsonl", *at],
        ["push", system, "assessments.jsonl", *at, "--ledger", "another.jsonl"],
        pull,
        ["vet", "pulled", "--out", "again.jsonl"],
    ):
        done = subprocess.run([command, *words], cwd=work, capture_output=True, text=True, check=False)
        print(f"$ metajudge {' '.join(words)}   (exit code {done.returncode})")
        print("".join(f"  {line}\n" for line in done.stdout.splitlines()[:6]), end="")
    same = (work / "assessments.jsonl").read_bytes() == (work / "again.jsonl").read_bytes()
    print(f"vetted again with our notes beside the verdicts: {'the same' if same else 'NOT the same'}")


@contextmanager
def _mlflow_server(work: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    words += ["--backend-store-uri", f"sqlite:///{work}/mlflow.db", "--artifacts-destination", str(work / "artifacts")]
    program = Path(sys.executable).with_name("mlflow")
    server = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(120):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health"):
                    break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(1)
        else:
            raise SystemExit("MLflow did not start within two minutes")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
