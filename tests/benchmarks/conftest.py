"""A small JudgeBench folder."""

import json
from typing import Any

import pytest
from metajudge.benchmarks.agent_clash.records import load_study
from metajudge.benchmarks.agent_clash.report import recompute

from tests.benchmarks.grids import GRID
from tests.doubles.clash_study import write
from tests.doubles.judgebench import game, pair


@pytest.fixture
def folder(tmp_path):
    """Writes a JudgeBench folder from pairs and games (and further files by name)."""

    def write(pairs, games, **others):
        place = tmp_path / "data"
        place.mkdir(exist_ok=True)
        for name, rows in {"pairs": pairs, "judgments": games, **others}.items():
            (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return place

    return write


@pytest.fixture
def small(folder):
    """Twelve pairs by one judge: right in both orders on the first eight, by position on the rest; and a second judge."""
    games = []
    for number in range(12):
        games.append(game(number, "AB", "A>B"))
        games.append(game(number, "BA", "B>A" if number < 8 else "A>B", label="B>A"))
        games.append(game(number, "AB", "A>B" if number % 3 else "B>A", judge="hawk"))
    return folder([pair(number) for number in range(12)], games)


@pytest.fixture
def figures(tmp_path):
    """Recomputes made rows."""

    def made(rows: list[dict[str, Any]]) -> dict[str, Any]:
        return recompute(load_study(write(tmp_path / "data", rows)))

    return made


@pytest.fixture
def grid_file(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(GRID)
    return str(path)
