"""A small JudgeBench folder."""

import json

import pytest

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
