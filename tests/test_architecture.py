"""The import contract, held module by module: nothing points up, no cycles, and pure modules stay pure."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.doubles.imports import Arrow, ModuleTree

ROOT = Path(__file__).parents[1]

LAYERS = [
    "types.usage benchmarks.sample",
    "errors",
    "types installation concurrency files stats scoring",
    "rubric providers evidence client voting",
    "prompts settings decision calibration reading",
    "agents reviews report runs outcomes.model",
    "judging store",
    "strategies clashes cases peers exports audit webhooks",
    "panels feedback report.audit monitor outcomes systems",
    "session runs.estimate auditing",
    "vetting",
    "judging.run judging.estimate clashes.setup",
    "clashes.run cases.run peers.run",
    "clashes.reviews feedback.rejudging blocking",
    "reviewables",
    "vetting.report",
    "adapters api benchmarks",
    "cli",
    "__init__ __main__",
]
"""Bottom first; names leave out ``metajudge.``, and a module goes by the longest name here that it starts with.

Modules import their own unit and lower layers. What runs a task or estimates its cost stands above the session; what the
task means (its records, its arithmetic, its prompts) stands below.
"""
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}

EDGES = {
    "metajudge.cli": "metajudge.__main__",
    "metajudge.api": "metajudge.cli",
    "metajudge.benchmarks": "metajudge.cli",
}
"""What nothing imports but one package; api and benchmarks are mapped into the package, and so are loaded by string."""
DATA = "metajudge.benchmarks.sample"

PURE = [
    "scoring stats voting decision evidence calibration audit monitor",
    "judging.blinding judging.known_names judging.records judging.self_identification",
    "clashes.concordance clashes.pareto clashes.sheet clashes.standings clashes.tally",
    "cases.gate cases.quotes cases.result",
    "peers.alignment peers.figures peers.findings peers.influence peers.standing peers.table",
    "feedback.metrics exports.near_duplicates exports.splitting reviews.agreement",
    "reviewables.labels reviewables.reviewable reviewables.sheet reviewables.wording",
]
"""Packages and modules without files, clock, environment, async, or randomness other than a seeded generator's."""

IMPURE = {
    "decision.load": "reads policies",
    "calibration.files": "reads and writes calibrations",
    "monitor.records": "reads stores and files, records alarms",
    "monitor.stored": "reads stores",
    "voting.rank": "gives Kemeny's time limit its clock",
}
"""Modules of pure packages that are not pure, with the reason."""

WORLD = {"asyncio", "os", "secrets", "shutil", "socket", "subprocess", "tempfile", "threading", "time", "uuid"}
TOUCHING = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "unlink", "mkdir", "now", "utcnow", "today"}
SEEDED = {"default_rng", "Random", "Generator", "SeedSequence"}


def unit(module: str) -> str | None:
    """The longest name in LAYERS that a module starts with."""
    parts = (module.removeprefix("metajudge").removeprefix(".") or "__init__").split(".")
    return next((name for n in range(len(parts), 0, -1) if (name := ".".join(parts[:n])) in LEVEL), None)


def pointing_up(tree: ModuleTree) -> list[str]:
    """Arrows to a unit that is not lower."""
    places = [(arrow, unit(arrow.importer), unit(arrow.imported)) for arrow in tree.arrows]
    return [str(arrow) for arrow, of, to in places if of != to and LEVEL[to] >= LEVEL[of]]


def cycle(tree: ModuleTree) -> list[str]:
    """The modules of a cycle, once around; empty where there is none.

    Entries of tables are left out: both modules are complete when an entry is loaded.
    """
    graph: dict[str, set[str]] = {name: set() for name in tree.parsed}
    for arrow in tree.arrows:
        if arrow.how != "entry":
            graph[arrow.importer].add(arrow.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def forbidden(tree: ModuleTree) -> list[str]:
    """Imports of an edge from outside of it."""
    return [str(arrow) for arrow in tree.arrows for edge in EDGES if _is_refused(arrow, edge)]


def _is_refused(arrow: Arrow, edge: str) -> bool:
    if not within(arrow.imported, edge) or within(arrow.importer, edge) or arrow.imported == DATA:
        return False
    by_name = arrow.how == "name" and edge != "metajudge.cli"
    return by_name or not within(arrow.importer, EDGES[edge])


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def impurities(tree: ModuleTree) -> Iterator[str]:
    """Where pure modules touch what lies outside of their arguments."""
    for module, parsed in tree.parsed.items():
        name = module.removeprefix("metajudge.")
        if name not in IMPURE and any(name == pure or name.startswith(f"{pure}.") for pure in " ".join(PURE).split()):
            yield from (f"{module}:{line}: {what}" for line, what in touched(parsed))


def touched(parsed: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines that import or call what is not pure."""
    for node in ast.walk(parsed):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, one.name) for one in names if one.name.split(".")[0] in WORLD)
            case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] in WORLD | {"random"}:
                yield from ((node.lineno, one.name) for one in names if one.name not in SEEDED)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in TOUCHING:
                yield node.lineno, f"{name}()"
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[], keywords=[]) if name in SEEDED:
                yield node.lineno, f"{name}() without a seed"
            case ast.Attribute(value=ast.Attribute(attr="random") | ast.Name(id="random"), attr=name):
                if name not in SEEDED:
                    yield node.lineno, f"random.{name}"
            case ast.AsyncFunctionDef(name=name):
                yield node.lineno, f"async {name}"


@pytest.fixture(scope="module")
def whole() -> ModuleTree:
    return ModuleTree(ROOT)


def test_every_module_has_its_layer(whole):
    assert not [module for module in whole.parsed if unit(module) is None]


def test_nothing_points_up(whole):
    assert not pointing_up(whole), "\n".join(pointing_up(whole))


def test_no_modules_import_each_other(whole):
    assert not cycle(whole), " -> ".join(cycle(whole))


def test_the_edges_are_not_imported(whole):
    assert not forbidden(whole), "\n".join(forbidden(whole))


def test_pure_modules_are_pure(whole):
    assert not list(impurities(whole)), "\n".join(impurities(whole))


def test_what_the_lists_name_exists(whole):
    names = [*LEVEL, *" ".join(PURE).split(), *IMPURE]
    assert not [name for name in names if name != "__init__" and whole.module(f"metajudge.{name}") == "metajudge"]


@pytest.fixture
def broken(tmp_path):
    """A small tree with the modules given, by path without its ending; packages are made."""

    def make(modules: dict[str, str]) -> ModuleTree:
        for name, text in modules.items():
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            for folder in (path.parent, *path.parent.parents):
                if folder.is_relative_to(tmp_path) and folder != tmp_path:
                    (folder / "__init__.py").touch()
            path.write_text(text)
        return ModuleTree(tmp_path)

    return make


HOW = {
    "at the top": "from metajudge.{0}.{1} import x",
    "as a module": "import metajudge.{0}.{1}",
    "from its package": "from metajudge.{0} import {1}",
    "inside a function": "def f():\n    from metajudge.{0}.{1} import x",
    "for type checkers": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from metajudge.{0}.{1} import x",
    "relative": "from ..{0}.{1} import x",
    "relative, from its package": "from ..{0} import {1}",
    "by import_module": "from importlib import import_module\ndef f():\n    import_module('metajudge.{0}.{1}')",
}


@pytest.mark.parametrize("how", HOW)
class TestEveryKindOfImportCounts:
    def test_pointing_up_is_seen(self, broken, how):
        modules = {"metajudge/stats/means": HOW[how].format("vetting", "engine"), "metajudge/vetting/engine": "x = 1"}
        (seen,) = pointing_up(broken(modules))
        assert "metajudge.stats.means -> metajudge.vetting.engine" in seen

    def test_a_cycle_is_seen(self, broken, how):
        back = "from metajudge.stats.means import y"
        tree = broken({"metajudge/stats/means": HOW[how].format("stats", "sums"), "metajudge/stats/sums": back})
        assert set(cycle(tree)) == {"metajudge.stats.means", "metajudge.stats.sums"}


class TestTables:
    def test_a_name_of_a_lazy_package_is_an_import_of_its_own_module(self, broken):
        lazy = "_HOMES = {'y': 'metajudge.clashes.run'}\ndef __getattr__(name): ..."
        modules = {"metajudge/clashes/run": "y = 1", "metajudge/clashes/__init__": lazy}
        assert not pointing_up(broken(modules))
        (seen,) = pointing_up(broken({**modules, "metajudge/judging/run": "from metajudge.clashes import y"}))
        assert seen.endswith("metajudge.judging.run -> metajudge.clashes.run")

    def test_an_entry_points_up_but_closes_no_cycle(self, broken):
        table = "TABLE = {'vet': 'metajudge.vetting.engine:run'}"
        back = "from metajudge.stats.sums import TABLE"
        tree = broken({"metajudge/stats/sums": table, "metajudge/vetting/engine": back})
        assert len(pointing_up(tree)) == 1
        assert cycle(tree) == []


@pytest.mark.parametrize(
    ("importer", "text"),
    [
        ("metajudge/session", "import metajudge.cli.app"),
        ("metajudge/adapters/inspect", "from metajudge.cli import app"),
        ("api/server", "from metajudge.cli.app import x"),
        ("api/server", "from ..cli.app import x"),
        ("benchmarks/grid", "from metajudge.cli.app import x"),
        ("metajudge/vetting/engine", "import metajudge.api.app"),
        ("metajudge/vetting/engine", "BENCH = 'metajudge.benchmarks.bench'"),
        ("metajudge/cli/serve", "import metajudge.api.app"),
    ],
)
def test_an_import_of_an_edge_is_seen(broken, importer, text):
    allowed = {
        "metajudge/cli/app": "from importlib import import_module\nimport_module('metajudge.api.app')",
        "metajudge/__main__": "from metajudge.cli.app import main",
        "api/app": "from .hosts import x",
        "api/hosts": "",
        "benchmarks/bench": "",
    }
    assert not forbidden(broken(allowed))
    assert len(forbidden(broken({importer: text}))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "open('x')",
        "from pathlib import Path\nPath('x').read_text()",
        "import time",
        "def f():\n    from time import monotonic",
        "import os",
        "from os import environ",
        "import random\nrandom.random()",
        "from random import shuffle",
        "import numpy as np\nnp.random.seed(1)",
        "import numpy as np\nnp.random.default_rng()",
        "from random import Random\nRandom()",
        "import asyncio",
        "async def f(): ...",
        "from datetime import datetime\ndatetime.now()",
    ],
)
def test_an_impure_line_is_seen(broken, text):
    assert len(list(impurities(broken({"metajudge/stats/means": text})))) == 1
    assert not list(impurities(broken({"metajudge/stats/means": "", "metajudge/store/rows": text})))


def test_a_seeded_generator_is_pure(broken):
    text = "import numpy as np\nfrom random import Random\nnp.random.default_rng(7), Random(7), np.random.Generator"
    assert not list(impurities(broken({"metajudge/stats/means": text})))


STATISTICS = "scipy sklearn pandas duckdb"
MODELS = "; ".join(
    f"build_model(parse_agent_spec('{one}:m'), resources=Resources())" for one in ("openai", "anthropic")
)
LOADED = {
    "import metajudge": "asyncio numpy pydantic",
    "import metajudge, metajudge.cli.app": "numpy duckdb openai anthropic sklearn scipy jinja2 aiohttp",
    "import metajudge.cli.vet": f"{STATISTICS} ray",
    "from metajudge import voting; voting.kemeny([['a', 'b']])": STATISTICS,
    "import metajudge.reading.frames": "pandas datasets pyarrow",
    "import metajudge.blocking": "metajudge.cases metajudge.clashes metajudge.judging metajudge.peers jinja2",
    "from metajudge.providers.stack import Resources, build_model; "
    "from metajudge.providers.spec import parse_agent_spec; " + MODELS: "openai anthropic aiohttp httpx2 genai_prices",
}
"""What is done -> packages that it does not load; each costs up to a second of every start."""


@pytest.mark.parametrize("use", LOADED)
def test_what_is_light_stays_light(use):
    code = f"import sys; {use}; print([name for name in {LOADED[use].split()} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"
