"""On recorded data; the reward models of one small set, few divisions."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from metajudge.benchmarks.downstream import tiny_trl
from metajudge.benchmarks.downstream.pair_files import write_pairs
from metajudge.benchmarks.downstream.study import lines, study

from metajudge.errors import InputError

from .made import made_pairs, made_verdicts

DATA = os.environ.get("METAJUDGE_DATA", "")


def test_a_folder_without_a_set_is_refused(tmp_path):
    with pytest.raises(InputError, match="none of the folders judgebench"):
        study(tmp_path, ("judgebench",), 2, 0.8, 0.1)


@pytest.mark.slow
@pytest.mark.skipif(not (Path(DATA) / "judgebench").is_dir(), reason="METAJUDGE_DATA names no recorded data")
def test_keeping_removes_wrong_pairs_of_every_judge_that_is_kept(tmp_path):
    found = study(Path(DATA), ("judgebench",), 2, 0.8, 0.1, tmp_path)
    sets = {(one.judge, one.selection): one for one in found.sets["judgebench"]}
    judges = {judge for judge, _ in sets}
    kept = [judge for judge in judges if sets[judge, "kept"].pairs]
    assert len(kept) >= 5
    assert all(sets[judge, "kept"].wrong < sets[judge, "raw"].wrong for judge in kept)
    assert {row.selection for row in found.rewards} >= {"raw", "kept", "raw, as many as kept", "true labels"}
    assert found.rankings == []
    assert (tmp_path / "judgebench" / "test.jsonl").exists()
    assert len(list(lines(found))) > 20


@pytest.mark.slow
@pytest.mark.skipif(find_spec("trl") is None, reason="trl is not installed")
def test_a_tiny_model_trained_by_trl_learns_from_right_pairs(tmp_path):
    pairs = made_pairs(60)
    write_pairs(tmp_path / "made", pairs, [made_verdicts(pairs, 0.0)], seed=0)
    ran = subprocess.run(
        [sys.executable, tiny_trl.__file__, tmp_path, "--steps", "40", "--seeds", "1"], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert "true-labels" in ran.stdout
