"""Recorded judgments on Ray, by free evidence, calibration and policy, against one process."""

import asyncio
import os
from pathlib import Path

import pytest

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.distributed.folder import ResultsFolder
from metajudge.distributed.options import Judging, RayOptions
from metajudge.distributed.run import vet_on_ray
from metajudge.panels.config import PanelConfig
from metajudge.readers import open_judgments
from metajudge.vetting.engine import Engine

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'metajudge-vet[ray]'")
DATA = Path(os.environ.get("METAJUDGE_DATA", "no-data"))
SIGNALS = {
    "judgebench": ("pairwise", ["order", "strength", "peers"]),
    "mtbench": ("pairwise", ["order", "strength", "peers"]),
}
"""What a calibration is fitted on."""
FREE = 3_000
"""Judgments of the other set, vetted by free evidence alone."""
PANEL = PanelConfig(strategy="signals")

# Ray warns of its own parts.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return round(value, 9) if isinstance(value, float) else value


def one_process(path, limit, **how):
    found = {}

    async def vet():
        async with Engine(panel=PANEL, **how) as engine:
            source = open_judgments([path], limit=limit)
            await engine.vet_all(source, on_result=lambda index, _, one: found.__setitem__(index, one))

    asyncio.run(vet())
    return {index: rounded(one.model_dump(mode="json")) for index, one in found.items()}


@pytest.mark.parametrize("name", ["judgebench", "llmbar", "mtbench"])
def test_every_assessment_is_that_of_one_process(name, cluster, tmp_path):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no recorded judgments in {path}")
    how, limit = {}, None
    if name in SIGNALS:
        kind, signals = SIGNALS[name]
        table = build_table(open_judgments([path]).all(), signals, kind=kind)
        some = set(sorted(set(table.questions))[::2][:200])
        fitted = fit_calibration(table.select([one in some for one in table.questions]), repeats=1, folds=2)
        how = {"calibration": fitted, "policy": "verdict"}
    else:
        limit = FREE  # fitting takes minutes
    expected = one_process(path, limit, **how)
    vet_on_ray(PANEL, open_judgments([path], limit=limit), tmp_path / "out", RayOptions(workers=2), Judging(**how))
    found = dict(ResultsFolder(tmp_path / "out").assessments())
    assert {index: rounded(one.model_dump(mode="json")) for index, one in found.items()} == expected
    assert len(expected) == limit or name in SIGNALS
