"""``metajudge diff`` as a user types it."""

import json
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "judgments.jsonl"


@pytest.mark.slow
def test_runs_in_a_store_and_their_files_say_the_same(metajudge):
    metajudge("vet", SAMPLE, "--threshold", "3.5", "--out", "low.jsonl")
    metajudge("vet", SAMPLE, "--out", "high.jsonl")
    metajudge("vet", SAMPLE)  # asks nothing: all is known, and read as the results of the panel
    again, _, low = (run["run_id"] for run in json.loads(metajudge("runs", "--json").stdout)["runs"])
    by_run, code = metajudge.json("diff", low, again)
    by_file = metajudge("diff", "low.jsonl", "high.jsonl", "--labels", SAMPLE)
    assert code == 0
    assert by_run["paired"] == 96
    assert by_run["gained"] == []
    assert len(by_run["lost"]) == by_run["right_lost"][1] == 24
    assert "took 96 results from earlier runs" in by_run["notes"][0]
    assert "only by the first 24" in by_file.stdout
    assert f"difference {100 * by_run['precision']['value']:+.1f}" in by_file.stdout
    assert f"difference {100 * by_run['kept']['value']:+.1f}" in by_file.stdout
    assert "--json has all" in by_file.stdout
