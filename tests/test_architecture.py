"""The import contract: an arrow is an import, and nothing points up."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1] / "metajudge"

LAYERS = [
    {"errors"},
    {"types", "installation"},
    {
        "providers",
        "prompts",
        "rubric",
        "rubric_model",
        "yaml_documents",
        "webhook",
        "scoring",
        "stats",
        "concurrency",
        "output_files",
        "compact_map",
        "families",
    },
    {"settings", "panel_file", "agents", "evidence", "decision", "voting"},
    {"judging", "reviews", "calibration", "readers"},
    {"strategies", "peers", "feedback", "preferences", "report", "store", "inspection", "frames"},
    {"runs"},
    {"exit_codes", "explanation"},
    {"assembly", "summary", "assessment_file", "policies"},
    {"completion"},
    {"engine", "estimate", "demo"},
    {"blocking", "clash_run", "distributed", "clash_reviews", "case_records", "ranking"},
    {"cli", "adapters", "api", "benchmarks", "client", "__init__", "__main__"},
]
"""Bottom first. A module may import from lower layers; within a layer only what SIDEWAYS declares."""

SIDEWAYS = {
    ("preferences", "store"),
    ("rubric", "rubric_model"),
    ("rubric", "yaml_documents"),
    ("yaml_documents", "rubric_model"),
    ("prompts", "rubric"),
    ("agents", "concurrency"),
    ("reviews", "readers"),
    ("feedback", "store"),
    ("estimate", "assembly"),
    ("clash_reviews", "clash_run"),
    ("adapters", "client"),
    ("__main__", "cli"),
}

LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def unit(module: str) -> str | None:
    """``metajudge.store.rows`` -> ``store``; None for modules outside the package."""
    parts = module.split(".")
    if parts[0] != "metajudge":
        return None
    return parts[1] if len(parts) > 1 else "__init__"


def imports(path: Path):
    """The units a file imports, leaving out blocks for type checkers and the version."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [
                f"{node.module}.{alias.name}" if node.module == "metajudge" else node.module for alias in node.names
            ]
        else:
            continue
        for name in names:
            found = unit(name)
            if found is not None and name != "metajudge.__version__":
                yield found, node.lineno


def arrows():
    for path in sorted(ROOT.rglob("*.py")):
        importer = path.relative_to(ROOT).parts[0].removesuffix(".py")
        for imported, line in imports(path):
            if imported != importer:
                yield importer, imported, f"{path.relative_to(ROOT.parent)}:{line}"


def test_every_unit_has_its_place():
    units = {
        path.name.removesuffix(".py")
        for path in ROOT.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert units <= set(LEVEL), f"not in LAYERS: {units - set(LEVEL)}"


def test_nothing_points_up():
    wrong = [
        f"{where}: {importer} -> {imported}"
        for importer, imported, where in arrows()
        if LEVEL[imported] > LEVEL[importer]
        or (LEVEL[imported] == LEVEL[importer] and (importer, imported) not in SIDEWAYS)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_edge_is_not_imported_by_name():
    """api/ and benchmarks/ are mapped into the package; they are reached by import string alone."""
    assert not [where for _, imported, where in arrows() if imported in ("api", "benchmarks", "rubric_files")]


def test_the_service_stands_on_the_library_and_not_on_the_command_line():
    """What both need is the library's; the event loop and the collector's settings of a command are not."""
    api = ROOT.parent / "api"
    wrong = [f"{path}:{line}" for path in api.rglob("*.py") for name, line in imports(path) if name == "cli"]
    assert not wrong, "\n".join(wrong)


def test_light_modules_stay_light():
    """What --help and ``import metajudge`` load must not pull in the heavy packages."""
    import subprocess
    import sys

    heavy = ["numpy", "duckdb", "openai", "anthropic", "sklearn", "scipy", "jinja2", "aiohttp"]
    code = f"import sys, metajudge, metajudge.cli.app; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"
