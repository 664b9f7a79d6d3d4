"""Who imports whom: the modules below a root, and the arrows between them.

An arrow is any import: at the top of a file, inside a function, for type checkers alone, relative, or by
``import_module("...")``. Any other string that names a module is an entry of a table of what is imported on use. The lazy
table of a package (its ``__init__`` has ``__getattr__``) offers names and needs none of them: a name imported through it
is an import of the name's own module, and the table itself makes no arrow.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

FOLDERS = {"metajudge": "metajudge", "metajudge.api": "api", "metajudge.benchmarks": "benchmarks"}


@dataclass(frozen=True, slots=True)
class Arrow:
    """One import: by whom, of what, where, and how: by its name, by ``import_module``, or as an entry of a table."""

    importer: str
    imported: str
    where: str
    how: Literal["name", "call", "entry"]

    def __str__(self) -> str:
        return f"{self.where}: {self.importer} -> {self.imported}"


@dataclass(repr=False)
class ModuleTree:
    """The modules below a root by dotted name, what each lazy package offers, and the arrows."""

    root: Path
    parsed: dict[str, ast.Module] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    homes: dict[str, dict[str, str]] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)

    def __post_init__(self) -> None:
        for package, folder in FOLDERS.items():
            for path in sorted((self.root / folder).rglob("*.py")):
                parts = path.relative_to(self.root / folder).with_suffix("").parts
                name = ".".join((package, *parts)).removesuffix(".__init__")
                self.paths[name], self.parsed[name] = path, ast.parse(path.read_text("utf-8"))
        self.homes = {name: _offered(tree) for name, tree in self.parsed.items() if _is_lazy(tree)}
        self.arrows = [arrow for name in self.parsed for arrow in self._arrows_of(name)]

    def module(self, dotted: str) -> str | None:
        """The module that a dotted name is, or is a name of."""
        parts = dotted.split(".")
        return next((name for n in range(len(parts), 0, -1) if (name := ".".join(parts[:n])) in self.parsed), None)

    def _arrows_of(self, importer: str) -> Iterator[Arrow]:
        tree, lazy = self.parsed[importer], importer in self.homes
        skipped = _for_type_checkers(tree) if lazy else set()
        called = {id(argument) for node in ast.walk(tree) for argument in _arguments_of_import_module(node)}
        for node in ast.walk(tree):
            how: Literal["name", "call", "entry"] = "name"
            if isinstance(node, ast.Constant):
                how = "call" if id(node) in called else "entry"
            if id(node) in skipped or (lazy and how == "entry"):
                continue
            for name in self._named(importer, node):
                imported = self.module(name)
                if imported is not None and imported != importer:
                    yield Arrow(importer, imported, f"{self.paths[importer].relative_to(self.root)}:{node.lineno}", how)

    def _named(self, importer: str, node: ast.AST) -> Iterator[str]:
        """The dotted names a node imports; a name of a lazy package by its own module."""
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(names=names):
                base = self._base(importer, node)
                for alias in names:
                    yield self.homes.get(base, {}).get(alias.name, f"{base}.{alias.name}")
            case ast.Constant(value=str(text)):
                name = text.partition(":")[0]  # module:attribute
                if name in self.parsed and name != "metajudge":
                    yield name

    def _base(self, importer: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = importer.split(".")
        up = node.level - (self.paths[importer].name == "__init__.py")
        return ".".join([*package[: len(package) - up], *([node.module] if node.module else [])])


def _is_lazy(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body)


def _offered(tree: ast.Module) -> dict[str, str]:
    """Name -> module, from the tables of a lazy package."""
    tables = [node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)]
    return {name: home for table in tables for name, home in ast.literal_eval(table).items()}


def _arguments_of_import_module(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Call(func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"), args=arguments):
            return arguments
    return []


def _for_type_checkers(tree: ast.Module) -> set[int]:
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    return {id(inner) for block in blocks for inner in ast.walk(block)}
