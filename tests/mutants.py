"""How many small faults the tests notice: ``python -m tests.mutants`` plants seeded faults, one at a time.

Each mutant is one changed operator, comparison, constant, condition or return value in a module of TARGETS. The number
tests run against it (first the files that import the module), then, if it survives, the tests of the edges. Nothing
on disk changes: the module is compiled with the fault when the tests import it.
Strings, annotations, decorators and settings of classes are left alone: a fault there is a wording or changes nothing
that a test could see.
"""

import argparse
import ast
import importlib.abc
import importlib.machinery
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGETS = {
    "metajudge.scoring": "scoring",
    "metajudge.decision": "decision",
    "metajudge.calibration": "calibration",
    **dict.fromkeys(("metajudge.agents", "metajudge.prompts", "metajudge.strategies"), ""),
    **dict.fromkeys((f"metajudge.judging.{name}" for name in ("judges", "criteria", "ranking_replies")), ""),
    **dict.fromkeys(("metajudge.cases.run", "metajudge.cases.judge"), ""),
}
"""Beginnings of names of modules, each with the folder of number tests that belongs to it; none for what asks models."""

NUMBERS = ("scoring", "stats", "voting", "decision", "calibration", "evidence")
EDGES = ("method", "prompts", "replies", "commands", "files", "python", "http", "stored", "faults")
"""The tests of the edges, quickest and most telling first; others of that folder follow."""

PLANTED = "METAJUDGE_MUTANT"

_OPPOSED = ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn))
COMPARED = dict(_OPPOSED) | {other: one for one, other in _OPPOSED}
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.BitAnd: ast.BitOr}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True, order=True, slots=True)
class Mutant:
    """The ``number``-th place of a module where a fault can be."""

    module: str
    number: int

    @property
    def path(self) -> Path:
        return ROOT / f"{self.module.replace('.', '/')}.py"

    @property
    def number_tests(self) -> list[Path]:
        """The number tests of its room, then those of the other rooms; none for what asks."""
        room = next(folder for name, folder in TARGETS.items() if _is_below(self.module, name))
        if not room:
            return []
        rooms = [room, *(name for name in NUMBERS if name != room)]
        return [path for name in rooms for path in sorted((ROOT / "tests" / name).glob("test_*.py"))]


def _is_below(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")


def edge_tests() -> list[Path]:
    """The files of the edges in the order in which they run."""
    order = [f"test_{name}" for name in EDGES]
    found = sorted((ROOT / "tests" / "edges").glob("test_*.py"))
    return sorted(found, key=lambda path: order.index(path.stem) if path.stem in order else len(order))


def places(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes that a fault can change, in the order of the file."""

    def walk(node: ast.AST) -> Iterator[ast.AST]:
        match node:
            case ast.AnnAssign(value=None) | ast.Raise() | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
                return
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return
            case ast.Call(func=ast.Name(id="ConfigDict" | "field" | "Field" | "TypeVar")):
                return
        if _fault(node) is not None:
            yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "keywords") and not isinstance(
                node, ast.Call
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child)

    yield from walk(tree)


def _fault(node: ast.AST) -> tuple[str, Callable[[], None]] | None:
    """What is changed there and how, None where nothing is."""

    def put(name: str, value: object, of: ast.AST = node) -> Callable[[], None]:
        return lambda: setattr(of, name, value)

    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            return COMPARED[type(op)].__name__, put("ops", [COMPARED[type(op)]()])
        case ast.BinOp(op=op) if type(op) in COMPUTED and not any(map(_is_text, (node.left, node.right))):
            return COMPUTED[type(op)].__name__, put("op", COMPUTED[type(op)]())
        case ast.BoolOp(op=op):
            return "other of and, or", put("op", ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.USub()):
            return "without its sign", put("op", ast.UAdd())
        case ast.UnaryOp(op=ast.Not()):
            return "without its sign", put("operand", ast.UnaryOp(ast.Not(), node.operand))
        case ast.Constant(value=bool(value)):
            return "the other truth", put("value", not value)
        case ast.Constant(value=int(value) | float(value)):
            return "one more", put("value", value + 1)
        case ast.Call(func=ast.Name(id=name) as called) if name in CALLED:
            return CALLED[name], put("id", CALLED[name], called)
        case ast.Call(func=ast.Attribute(attr=name) as called) if name in CALLED:
            return CALLED[name], put("attr", CALLED[name], called)
        case ast.IfExp() | ast.If():
            return "the other branch", put("test", ast.UnaryOp(ast.Not(), node.test))
        case ast.Return(value=value) if value is not None and not (
            isinstance(value, ast.Constant) and value.value is None
        ):
            return "returns None", put("value", ast.Constant(None))
    return None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def planted(source: str, number: int) -> tuple[ast.Module, str]:
    """The module with the fault, and a line that says which."""
    tree = ast.parse(source)
    node = list(places(tree))[number]
    what, change = _fault(node)
    said = f"line {node.lineno}: {what}: {ast.unparse(node).splitlines()[0]}"
    change()
    return ast.fix_missing_locations(tree), said


class _Loader(importlib.machinery.SourceFileLoader):
    number = 0

    def get_code(self, fullname):
        tree, _ = planted(Path(self.path).read_text("utf-8"), self.number)
        return compile(tree, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.mutant.module:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(found for finder in others if (found := finder.find_spec(fullname, path, target)) is not None)
        spec.loader = _Loader(fullname, spec.origin)
        spec.loader.number = self.mutant.number
        return spec


if PLANTED in os.environ:  # this module is a plugin of the run of pytest below
    _module, _, _number = os.environ[PLANTED].partition(":")
    sys.meta_path.insert(0, _Finder(Mutant(_module, int(_number))))


@cache
def modules() -> tuple[str, ...]:
    """The modules that mutants are made of."""
    paths = sorted((ROOT / "metajudge").rglob("*.py"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths if path.stem != "__init__"]
    return tuple(module for module in names if any(_is_below(module, name) for name in TARGETS))


def drawn(seed: int, count: int, only: str = "") -> list[Mutant]:
    """A sample of all mutants; the same for the same seed and the same source."""
    every = [
        Mutant(module, number)
        for module in modules()
        if only in module
        for number in range(len(list(places(ast.parse(Mutant(module, 0).path.read_text("utf-8"))))))
    ]
    return sorted(random.Random(seed).sample(every, min(count, len(every))))


def fail(tests: list[Path], planted: str, seconds: float) -> bool:
    """Whether any of these tests fails, or they do not end in time, with ``MODULE:NUMBER`` planted."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "tests.mutants", "-p", "no:cacheprovider"]
    environment = {name: value for name, value in os.environ.items() if name not in (PLANTED, "METAJUDGE_RECORD")}
    environment |= {PLANTED: planted} if planted else {}
    command += ["-m", "not slow", *map(str, tests)]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in (0, 5)  # 5: all of them are slow


def killed_by(mutant: Mutant, seconds: float) -> str:
    """Which tests notice it: those that import its module, the other number tests, the edges; empty for none."""
    numbers = mutant.number_tests
    own = [path for path in numbers if f"{mutant.module} " in path.read_text("utf-8")]
    stages = {"own": own, "numbers": [path for path in numbers if path not in own], "edges": edge_tests()}
    where = f"{mutant.module}:{mutant.number}"
    return next((name for name, tests in stages.items() if tests and fail(tests, where, seconds)), "")


def seed_of(commit: str) -> int:
    """The seed that a commit's hash fixes."""
    done = subprocess.run(["git", "rev-parse", commit], cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout.strip(), 16) % 2**32


def main() -> int:
    """Prints each survivor and the share of mutants killed; exit code 1 below the share asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--commit", default="41abbdeb", help="Its hash is the seed.")
    parser.add_argument("--seed", type=int, help="In place of a commit's.")
    parser.add_argument("--only", default="", help="Part of a module's name.")
    parser.add_argument("--seconds", type=float, default=1800.0, help="Time limit of the tests of one stage.")
    parser.add_argument("--jobs", type=int, default=2, help="Mutants at a time.")
    parser.add_argument("--unchecked", action="store_true", help="Do not run the tests without a fault first.")
    parser.add_argument("--at-least", type=float, default=0.80, help="Share that must be killed.")
    options = parser.parse_args()
    seed = seed_of(options.commit) if options.seed is None else options.seed
    mutants = drawn(seed, options.count, options.only)
    tests = {path for mutant in mutants for path in (*mutant.number_tests, *edge_tests())}
    if not options.unchecked and fail(sorted(tests), "", options.seconds):
        parser.error("the tests fail without any fault: nothing would be learnt")
    survivors = []
    with ThreadPoolExecutor(options.jobs) as pool:
        ends = pool.map(lambda one: killed_by(one, options.seconds), mutants)
        for mutant, by in zip(mutants, ends, strict=True):
            _, said = planted(mutant.path.read_text("utf-8"), mutant.number)
            print(f"{f'killed by {by}' if by else 'survived'}: {mutant.module} {said}", flush=True)
            survivors += [] if by else [f"{mutant.module} {said}"]
    print("\n".join(["", f"Survivors ({len(survivors)}):", *survivors]))
    killed = len(mutants) - len(survivors)
    print(f"{killed} of {len(mutants)} mutants killed ({killed / len(mutants):.1%}), seed {seed}")
    return int(killed < options.at_least * len(mutants))


if __name__ == "__main__":
    sys.exit(main())
