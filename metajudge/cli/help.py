"""How a command's help is laid out: options under titles where there are many, examples, exit codes."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from typer.core import TyperCommand

from metajudge.files.packaged import packaged

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter


class _Written(NamedTuple):
    examples: dict[str, list[str]]
    titles: dict[str, str]
    order: list[str]


@cache
def written() -> _Written:
    """What ``help.toml`` says: examples by command, the title of each option, and the titles in their order."""
    found = packaged("cli", "help")
    titles = {name: title for title, names in found["titles"].items() for name in names}
    return _Written(found["examples"], titles, [*found["titles"], OTHERS])


IMPLIED = {"bench file": "bench"}
"""Commands whose last word is implied by what follows -> as they are written."""


def examples_of(command: str) -> tuple[str, ...]:
    """Lines to paste; none for a group of commands."""
    name = IMPLIED.get(command, command)
    return tuple(f"metajudge {name} {line}".rstrip() for line in written().examples.get(command, ()))


FEW = 14
"""A command with no more options lists them under one title."""

OPTIONS, MODELS, INPUT, OTHERS = "Options", "Models and method", "Input", "Other options"

_MODEL = "SPEC"
"""What the value of an option is called that names a model, whatever the option's name."""


class HelpfulCommand(TyperCommand):
    """A command whose help has titled options and examples."""

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Writes arguments, then options: in the order of the code, under their titles where there are many."""
        for title, group in titled(self.get_params(ctx)):
            records = [record for one in group if (record := one.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Writes the examples, each on one line to paste, then the exit codes."""
        examples = examples_of(" ".join(ctx.command_path.split()[1:]))
        if examples:
            with formatter.section("Examples"):
                for line in examples:
                    formatter.write(f"  {line}\n")
        super().format_epilog(ctx, formatter)


def titled(params: "Sequence[Parameter]") -> "Iterator[tuple[str, list[Parameter]]]":
    """Arguments, then options by title, in the order of ``help.toml``; one title where there are few."""
    yield "Arguments", [one for one in params if one.param_type_name == "argument"]
    options = [one for one in params if one.param_type_name == "option"]
    if len(options) <= FEW:
        yield OPTIONS, options
        return
    groups: dict[str, list[Parameter]] = {}
    for one in options:
        groups.setdefault(_title(one), []).append(one)
    for title in written().order:
        if title in groups:
            yield title, groups[title]


def _title(option: "Parameter") -> str:
    name = option.opts[0].removeprefix("--")
    if getattr(option, "metavar", None) == _MODEL:
        return MODELS
    if name == "judge":
        return INPUT
    return written().titles.get(name, OTHERS)
