"""How many small faults the tests notice: ``python -m tests.mutants`` plants seeded faults, one at a time.

Each mutant is one changed operator, comparison, constant, condition or return value in a module of TARGETS, and only the
tests that mirror that module are run against it (``metajudge/a/b.py``: ``tests/a/test_b.py``). Nothing on disk changes: the
module is compiled with the fault when the tests import it. Strings, annotations, decorators and settings of classes are
left alone: a fault there is a wording or changes nothing that a test could see.
"""

import argparse
import ast
import importlib.abc
import importlib.machinery
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGETS = ("scoring", "decision", "calibration", "evidence")
IDENTITY = ("identity", "known_names", "folding", "self_identification", "blinding")
PLANTED = "METAJUDGE_MUTANT"

COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
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
    def tests(self) -> Path:
        parts = self.module.split(".")[1:]
        return ROOT.joinpath("tests", *parts[:-1], f"test_{parts[-1]}.py")


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


def _fault(node: ast.AST) -> str | None:
    """What is changed there, None where nothing is."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            return COMPARED[type(op)].__name__
        case ast.BinOp(op=op) if type(op) in COMPUTED and not _is_text(node):
            return COMPUTED[type(op)].__name__
        case ast.BoolOp():
            return "other of and, or"
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return "without its sign"
        case ast.Constant(value=bool()):
            return "the other truth"
        case ast.Constant(value=int() | float()):
            return "one more"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in CALLED:
            return CALLED[name]
        case ast.IfExp() | ast.If():
            return "the other branch"
        case ast.Return(value=value) if value is not None and not _is_none(value):
            return "returns None"
    return None


def _is_text(node: ast.BinOp) -> bool:
    texts = (ast.Constant, ast.JoinedStr)
    return any(isinstance(one, texts) and isinstance(getattr(one, "value", ""), str) for one in (node.left, node.right))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def planted(source: str, number: int) -> tuple[ast.Module, str]:
    """The module with the fault, and a line that says which."""
    tree = ast.parse(source)
    node = list(places(tree))[number]
    said = f"line {node.lineno}: {_fault(node)}: {ast.unparse(node).splitlines()[0]}"
    match node:
        case ast.Compare():
            node.ops = [COMPARED[type(node.ops[0])]()]
        case ast.BinOp():
            node.op = COMPUTED[type(node.op)]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.UnaryOp():
            node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
            if isinstance(node.op, ast.Not):
                node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant():
            node.value += 1
        case ast.Call(func=ast.Name()):
            node.func.id = CALLED[node.func.id]
        case ast.Call():
            node.func.attr = CALLED[node.func.attr]
        case ast.IfExp() | ast.If():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Return():
            node.value = ast.Constant(None)
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
    paths = [path for room in TARGETS for path in sorted((ROOT / "metajudge" / room).glob("*.py"))]
    paths += [ROOT / "metajudge" / "judging" / f"{name}.py" for name in IDENTITY]
    return tuple(f"metajudge.{path.parent.name}.{path.stem}" for path in paths if path.stem != "__init__")


def drawn(seed: int, count: int, only: str = "") -> list[Mutant]:
    """A sample of all mutants; the same for the same seed and the same source."""
    every = [
        Mutant(module, number)
        for module in modules()
        if only in module
        for number in range(len(list(places(ast.parse(Mutant(module, 0).path.read_text("utf-8"))))))
    ]
    return sorted(random.Random(seed).sample(every, min(count, len(every))))


def is_killed(mutant: Mutant, seconds: float) -> bool:
    """Whether the mirror tests fail, or do not end in time."""
    if not mutant.tests.exists():
        return False
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "tests.mutants", "-p", "no:cacheprovider"]
    environment = {**os.environ, PLANTED: f"{mutant.module}:{mutant.number}"}
    try:
        done = subprocess.run(
            [*command, "-m", "not slow", str(mutant.tests)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main() -> int:
    """Prints each survivor and the share of mutants killed; exit code 1 below the share asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--only", default="", help="Part of a module's name.")
    parser.add_argument("--seconds", type=float, default=120.0, help="Time limit of one mutant.")
    parser.add_argument("--at-least", type=float, default=0.85, help="Share that must be killed.")
    options = parser.parse_args()
    mutants = drawn(options.seed, options.count, options.only)
    ends = []
    with ThreadPoolExecutor(2) as pool:
        for mutant, killed in zip(mutants, pool.map(lambda one: is_killed(one, options.seconds), mutants), strict=True):
            ends.append(killed)
            _, said = planted(mutant.path.read_text("utf-8"), mutant.number)
            untested = "" if mutant.tests.exists() else " (no mirror test)"
            print(f"{'killed' if killed else 'survived'}: {mutant.module} {said}{untested}", flush=True)
    print(f"{sum(ends)} of {len(ends)} mutants killed ({sum(ends) / len(ends):.1%}), seed {options.seed}")
    return int(sum(ends) < options.at_least * len(ends))


if __name__ == "__main__":
    sys.exit(main())
