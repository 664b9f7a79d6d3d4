"""What vetting decides on recorded judgments: digests of every score, signal, probability and decision.

A change of the way through the code must not change them; a change of the method does, and takes new digests.
"""

import hashlib
import os
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from metajudge.cli.app import app
from metajudge.readers import open_judgments
from metajudge.readers.jsonl import write_jsonl
from metajudge.types import Assessment

DATA = Path(os.environ.get("METAJUDGE_DATA", ""))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("METAJUDGE_DATA"), reason="METAJUDGE_DATA names no folder of recorded data"),
]

# folder -> judgments, digest of what free evidence decides.
FREE = {"judgebench": (2980, "db9cb5636660c97b31cde7d7dc7b2c97"), "mtbench": (7359, "24bcda05c42d7feee6b140d3487fb5e3")}
# folder -> the same by a calibration without a guarantee, and the policy `verdict`.
CALIBRATED = {
    "judgebench": (2980, "966c72c40414332d288c26501e18504b"),
    "mtbench": (7359, "f615b7a53d049be889b8275ba5957ef3"),
}
# folder -> digest of the figures that a command gives.
BENCH = {"judgebench": "90a9b9eb845b15c3dce7b4d51262e6c4"}
AUDIT = {"judgebench": "0d907fd1389a3abaee3d328353a911ca", "mtbench": "5e531ddd2d5c6e287bd0967483030ef4"}
FITTED = {"judgebench": "c4a1f74685bc09cb91c416811c394ba3"}
UNTOLD = {"provenance", "version", "made_by", "inputs", "next", "notices"}
"""What depends on the version, the time or the place, and is no figure."""


def digest_of(file: Path) -> tuple[int, str]:
    """The number of assessments, and a digest of what they say, whatever their order.

    Probabilities are left out: fits end within 1e-8 of each other, on one machine and another.
    """
    lines = sorted(_said(Assessment.model_validate_json(line)) for line in file.read_bytes().splitlines())
    return len(lines), hashlib.sha256(b"\n".join(lines)).hexdigest()[:32]


def _said(one: Assessment) -> bytes:
    signals = {name: (_rounded(found.value), found.state, found.detail) for name, found in (one.signals or {}).items()}
    action = None if one.decision is None else one.decision.action.value
    failure = None if one.failure is None else one.failure.message
    scores = (_rounded(one.final_score), None if one.probability is None else True, one.probability_marks)
    return orjson.dumps((one.judgment_id, one.status, one.accepted, *scores, action, failure, signals))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 9)


def run(*words: object) -> None:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", FREE)
def test_of_free_evidence_by_folder_and_by_lines(name, tmp_path):
    run("vet", DATA / name, "--store", tmp_path / "a.duckdb", "--out", tmp_path / "a.jsonl")
    assert digest_of(tmp_path / "a.jsonl") == FREE[name]
    write_jsonl(tmp_path / "lines.jsonl", open_judgments([DATA / name]).all())
    run("vet", tmp_path / "lines.jsonl", "--store", tmp_path / "b.duckdb", "--out", tmp_path / "b.jsonl")
    assert digest_of(tmp_path / "b.jsonl") == FREE[name]
    run("vet", tmp_path / "lines.jsonl", "--store", tmp_path / "b.duckdb", "--out", tmp_path / "c.jsonl")
    assert (tmp_path / "c.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


@pytest.mark.parametrize("name", CALIBRATED)
def test_of_a_calibration_and_a_policy(name, tmp_path):
    write_jsonl(tmp_path / "lines.jsonl", open_judgments([DATA / name]).all())
    run("calibrate", "fit", "--data", tmp_path / "lines.jsonl", "--share", ".4", "--out", tmp_path / "fit.json")
    command = ("vet", tmp_path / "lines.jsonl", "--calibration", tmp_path / "fit.json", "--policy", "verdict")
    run(*command, "--store", tmp_path / "a.duckdb", "--out", tmp_path / "a.jsonl")
    assert digest_of(tmp_path / "a.jsonl") == CALIBRATED[name]
    run(*command, "--store", tmp_path / "a.duckdb", "--out", tmp_path / "b.jsonl")
    assert (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()


def figures_digest(text: str, decimals: int = 9) -> str:
    """A digest of a JSON document's figures, rounded, without what depends on the version and the place."""
    return hashlib.sha256(orjson.dumps(_figures(orjson.loads(text), decimals))).hexdigest()[:32]


def _figures(value: object, decimals: int) -> object:
    if isinstance(value, dict):
        return {name: _figures(one, decimals) for name, one in value.items() if name not in UNTOLD}
    if isinstance(value, list):
        return [_figures(one, decimals) for one in value]
    return round(value, decimals) if isinstance(value, float) else value


def told(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("name", BENCH)
def test_of_a_benchmark(name):
    assert figures_digest(told("bench", name, "--data", DATA / name, "--json")) == BENCH[name]


@pytest.mark.parametrize("name", AUDIT)
def test_of_an_audit_by_folder_and_by_lines(name, tmp_path):
    assert figures_digest(told("audit", DATA / name, "--json")) == AUDIT[name]
    write_jsonl(tmp_path / "lines.jsonl", open_judgments([DATA / name]).all())
    assert figures_digest(told("audit", tmp_path / "lines.jsonl", "--json")) == AUDIT[name]


@pytest.mark.parametrize("name", FITTED)
def test_of_a_fit(name, tmp_path):
    run("calibrate", "fit", "--data", DATA / name, "--share", "1", "--out", tmp_path / "fit.json")
    assert figures_digest((tmp_path / "fit.json").read_text(), 5) == FITTED[name]
