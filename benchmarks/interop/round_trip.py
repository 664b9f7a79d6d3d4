"""Verdicts out of a real system and assessments back: pull, vet, push twice, a service that watches, what is there.

    python -m benchmarks.interop.round_trip mlflow|phoenix METAJUDGE

To be run by a Python that has the system (``pip install mlflow``; ``pip install arize-phoenix``); METAJUDGE is the
command of an installation of ours, which may be another environment. A server is started on a free port with an empty
folder, our cases are logged with the system's client, and the commands and their output are printed. Then a service
watches the system, and one more case is logged while it does.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
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
        _watch(command, "mlflow", work, address, "interop", lambda: make_mlflow.log(mlflow, CASES[0]))
        for trace in mlflow.search_traces(return_type="list"):
            for one in trace.info.assessments:
                print(f"  {trace.info.request_preview}: {one.name} by {one.source.source_id} = {one.value}")


def _phoenix(command: str, work: Path) -> None:
    print(f"arize-phoenix {version('arize-phoenix')}, {len(CASES)} spans")
    with make_phoenix.server(str(work)) as address:
        client: Any = import_module("phoenix.client").Client(base_url=address)
        names = make_phoenix.log(client)
        _trip(command, "phoenix", work, ["--url", address], [])
        _watch(command, "phoenix", work, address, "default", lambda: make_phoenix.log_one(client, len(CASES)))
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


def _watch(command: str, system: str, work: Path, address: str, project: str, log: Callable[[], object]) -> None:
    """Serves with a watch on the system; logs one more case meanwhile; stops the service."""
    port = _free_port()
    (work / "service.toml").write_text(
        f'[service]\nport = {port}\nstore = "watch.duckdb"\n[[service.watches]]\nsystem = "{system}"\n'
        f'url = "{address}"\nproject = "{project}"\nsince = "all"\npush = true\nevery_s = 1\n'
        "items_per_minute = 6000\nrequests_per_second = 100\n"
    )
    service = subprocess.Popen([command, "serve", "--config", "service.toml"], cwd=work, stderr=subprocess.DEVNULL)
    try:
        before = _until(port, lambda state: state["position"] is not None)
        log()
        after = _until(port, lambda state: state["vetted"] > before["vetted"] and state["rounds"] > before["rounds"])
    finally:
        service.terminate()
        code = service.wait(60)
    for when, state in (("at first", before), ("one more case logged", after)):
        print(f"watch, {when}: {state['vetted']} vetted, {state['put']} put, error: {state['error']}")
    print(f"the service stopped with exit code {code}")


def _until(port: int, met: Callable[[Any], bool]) -> Any:
    for _ in range(120):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/watches") as answer:
                (state,) = json.load(answer)["watches"]
            if met(state):
                return state
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.5)
    raise SystemExit("the watch did not get there within a minute")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def _mlflow_server(work: Path) -> Iterator[str]:
    port = _free_port()
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
