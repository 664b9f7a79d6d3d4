"""The size that the house may have: ``budget.json`` holds the ceilings, and whatever adds must take away.

Lines hidden in longer lines or in fewer docstrings show in the statements, of which there may be .545 a line of all source,
data files included: names and texts that move from a module to a file change nothing in that.
"""

import ast
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CEILINGS = json.loads(Path(__file__).with_name("budget.json").read_text("utf-8"))
SOURCE = ("metajudge", "api", "benchmarks")
OTHER = {".j2", ".html", ".js", ".css", ".sql", ".toml", ".yaml"}
GENERATED = "made from the code"
"""In the first lines of a page that a command writes."""


def source_files():
    return [path for top in SOURCE for path in sorted((ROOT / top).rglob("*.py"))]


def is_written_by_hand(path):
    return "vendor" not in path.parts and "results" not in path.parts and ".min." not in path.name


@pytest.fixture(scope="module")
def totals():
    texts = [path.read_text("utf-8") for path in source_files()]
    others = [
        path
        for top in (*SOURCE, "rubrics")
        for path in (ROOT / top).rglob("*")
        if path.suffix in OTHER and is_written_by_hand(path)
    ]
    pages = [path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md")]
    return {
        "lines": sum(len(text.splitlines()) for text in texts),
        "statements": sum(isinstance(node, ast.stmt) for text in texts for node in ast.walk(ast.parse(text))),
        "modules": sum(path.name != "__init__.py" for path in source_files()),
        "other_source_lines": sum(len(path.read_text("utf-8").splitlines()) for path in others),
        "tests_lines": sum(len(path.read_text("utf-8").splitlines()) for path in (ROOT / "tests").rglob("*.py")),
        "docs_words": sum(len(page.split()) for page in pages if GENERATED not in page[:400].lower()),
    }


@pytest.mark.parametrize("name", CEILINGS)
def test_no_total_exceeds_its_ceiling(name, totals):
    assert totals[name] <= CEILINGS[name], f"{name}: {totals[name]:,} of {CEILINGS[name]:,}: take something away"


def test_every_total_has_a_ceiling(totals):
    assert CEILINGS.keys() == totals.keys()


def test_lines_are_not_hidden_in_longer_ones(totals):
    assert totals["statements"] <= 0.545 * (totals["lines"] + totals["other_source_lines"])


def test_no_module_is_longer_than_500_lines():
    long = [path for path in source_files() if len(path.read_text("utf-8").splitlines()) > 500]
    assert long == []
