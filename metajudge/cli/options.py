"""Options that several commands share, how a command takes a group of them, and the panel they make together."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from metajudge.cli.boundary import keeps_state_in
from metajudge.errors import BadLineError, ConfigurationError
from metajudge.files.command_line import command, store_words
from metajudge.files.output import check_writable, write_text
from metajudge.panels.config import PanelConfig, load_panel_file, with_flags
from metajudge.providers.model import Effort
from metajudge.settings import DEFAULT_STORE, Settings
from metajudge.types.location import StoreLocation, copy_first, store_location

if TYPE_CHECKING:
    from metajudge.reading.containers.lines import Reject
    from metajudge.report.document import Report


Command = Callable[..., None]

_OLD_DEFAULT = "metajudge.duckdb"
"""The store that version 0.2 used where none was named."""

ConfigOption = Annotated[Path | None, typer.Option(help="Panel file (TOML); options override it.", metavar="FILE")]
WebhookOption = Annotated[
    str | None,
    typer.Option(
        help="POST each outcome to this URL, signed with METAJUDGE_WEBHOOK_SECRET and sent again on failure; default "
        "METAJUDGE_WEBHOOK.",
        metavar="URL",
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        help="Store: a file, or postgresql://USER:PASSWORD@HOST/DATABASE; default METAJUDGE_STORE, else "
        "./metajudge.db.",
        metavar="PATH|URL",
    ),
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict", help="Exit with 1 at a bad line, before any model is asked, and if a judgment has no verdict."
    ),
]
ReportOption = Annotated[
    list[Path] | None,
    typer.Option(help="Write a report: .html, .md or .json by its name. Repeatable.", metavar="OUT.html"),
]
OtherCalibrationOption = Annotated[
    bool, typer.Option("--allow-other-calibration", help="Apply it to judges or agents it was not fitted on.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def complete(*choices: tuple[str, str]) -> Callable[[str], list[tuple[str, str]]]:
    """A completion of an option's value for the shell: values with their meanings; another value may still be given."""

    def completed(incomplete: str) -> list[tuple[str, str]]:
        return [choice for choice in choices if choice[0].startswith(incomplete)]

    return completed


def complete_from(module: str, names: Callable[[Any], Iterable[str]]) -> Callable[[str], list[str]]:
    """The same with values that a module has, which is imported when the shell asks for them."""

    def completed(incomplete: str) -> list[str]:
        return [name for name in names(import_module(f"metajudge.{module}")) if name.startswith(incomplete)]

    return completed


STRATEGIES = (
    ("single", "one agent"),
    ("weighted_average", "the agents' scores, averaged"),
    ("majority_vote", "most agents decide"),
    ("panel_discussion", "agents see each other's scores"),
    ("rejudge", "agents judge the item blind"),
    ("signals", "free evidence, no model"),
)
complete_strategy = complete(*STRATEGIES)
complete_rubric = complete_from("rubric", lambda found: found.BUILTIN_RUBRICS)
complete_policy = complete_from("decision", lambda found: (policy.name for policy in found.list_policies()))
complete_families = complete(("warn", "say so"), ("forbid", "leave such agents out"), ("ignore", "allow them"))
complete_right = complete(
    ("equal", "the same verdict"),
    ("within:", "grades at most T apart"),
    ("side:", "the same side of a pass mark"),
    ("top1", "the same winner"),
    ("kendall>=", "rankings alike"),
)
complete_bar = complete(("precision=", "right among the labelled ones kept"), ("kept=", "kept among all"))
complete_agent = complete_from("providers.spec", lambda found: (f"{name}:" for name in found.PROVIDERS))

AgentOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A meta-judge: [NAME=]PROVIDER:MODEL[@BASE_URL], e.g. openai:gpt-4o-mini. Repeat for a panel.",
        metavar="SPEC",
        autocompletion=complete_agent,
    ),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(help="Maximum number of calls in flight; default 64, of which a server here gets 4 at first.", min=1),
]
SeedOption = Annotated[int | None, typer.Option(help="Seed sent to models that support one; recorded.")]
ResamplingSeedOption = Annotated[int, typer.Option(help="Seed of folds, splits and resampling.", min=0)]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Estimate calls, tokens and dollars; send nothing.")]


def takes(argument: str, group: type, *without: str) -> Callable[[Command], Command]:
    """Gives a command the fields of a dataclass as options, where one argument stands that receives them all.

    Args:
        argument: of the command; its value is an instance of ``group``.
        group: a dataclass whose fields have types that typer reads, and defaults.
        without: fields that are no options of the command.
    """
    fields = {name: one for name, one in inspect.signature(group).parameters.items() if name not in without}

    def with_options(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own: list[inspect.Parameter] = []
        for one in signature.parameters.values():
            own += fields.values() if one.name == argument else [one]

        @functools.wraps(command)
        def grouped(**given: object) -> None:
            options = {name: given.pop(name) for name in fields}
            command(**given, **{argument: group(**options)})

        named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        grouped.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
        grouped.__annotations__ = {one.name: one.annotation for one in own}
        return grouped

    return with_options


@dataclass(frozen=True)
class Asking:
    """The panel file of a command, and how its agents are asked: each option is a setting of the file, too."""

    config: ConfigOption = None
    max_tokens: Annotated[
        int | None, typer.Option(help="Maximum tokens of an agent's reply, thoughts included.", min=1)
    ] = None
    effort: Annotated[
        Effort | None, typer.Option(help="How much the agents think before they answer, where the model can.")
    ] = None
    thinking_budget: Annotated[
        int | None, typer.Option(help="Tokens the agents may think for, where the provider has such a setting.", min=1)
    ] = None
    requests_per_minute: Annotated[
        float | None, typer.Option(help="Maximum requests a minute to each address.", min=0.001)
    ] = None
    prompt_version: Annotated[
        str | None,
        typer.Option(
            help="Version of the prompt set, or newest; default as in the panel file, else the newest, or the one "
            "under which the store has this panel's results.",
            metavar="N|newest",
        ),
    ] = None

    def of(self, agents: Sequence[str] | None, **flags: Any) -> PanelConfig:
        """The panel of the file, if any, changed by the options that are given; see :func:`with_flags`."""
        panel = PanelConfig() if self.config is None else load_panel_file(self.config)
        own = {one.name: getattr(self, one.name) for one in fields(Asking) if one.name != "config"}
        return with_flags(panel, agents or (), **own, **flags)


def need_judges(panel: PanelConfig) -> None:
    """Raises ConfigurationError: no agent judges."""
    if not panel.agents:
        raise ConfigurationError("no judge: give --judge PROVIDER:MODEL, or a --config with agents")


@dataclass(frozen=True)
class _Judging:
    judge: Annotated[
        list[str] | None,
        typer.Option(help="A judge: [NAME=]PROVIDER:MODEL[@BASE_URL]. Repeat; odd panels tie less.", metavar="SPEC"),
    ] = None


@dataclass(frozen=True)
class Judges(Asking, _Judging):
    """The judges of a command."""

    def panel(self, **flags: Any) -> PanelConfig:
        """The panel of judges.

        Raises:
            ConfigurationError: no agent judges, or a panel that makes no sense.
        """
        panel = self.of(self.judge, **flags)
        need_judges(panel)
        return panel


@dataclass(frozen=True)
class Vetting:
    """Meta-judges, and how their scores become decisions."""

    agent: AgentOption = None
    rubric: Annotated[
        str | None, typer.Option(help="short, long, binary, baseline or a YAML file.", autocompletion=complete_rubric)
    ] = None
    strategy: Annotated[
        str | None,
        typer.Option(
            help="single, weighted_average, majority_vote, panel_discussion, rejudge (agents judge the item blind), "
            "or signals (no model). Default: by the number of agents.",
            autocompletion=complete_strategy,
        ),
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Keep scores strictly above this; default 4.5, of rejudge 3. Given, the score decides, with a "
            "calibration, too."
        ),
    ] = None
    families: Annotated[
        str | None,
        typer.Option(
            help="Meta-judges of the same family as the judge or a candidate: warn (default), forbid or ignore.",
            autocompletion=complete_families,
        ),
    ] = None


@dataclass(frozen=True)
class Agents(Asking, Vetting):
    """The meta-judges of a command, and how they are asked."""

    def panel(self, **flags: Any) -> PanelConfig:
        """The panel of meta-judges."""
        own = {one.name: getattr(self, one.name) for one in fields(Vetting) if one.name != "agent"}
        return self.of(self.agent, **own, **flags)


_typed: list[str] = []
"""How the command line names the store, once it is known."""


def advised(*words: str | Iterable[str]) -> str:
    """A further command, with the store that this command was given."""
    return command(*words, _typed)


def echo_json(data: Mapping[str, object], *, indent: bool = False) -> None:
    """Prints plain data as one JSON object that says the version of its format; lists stand in it by name."""
    typer.echo(orjson.dumps({"version": 1, **data}, option=orjson.OPT_INDENT_2 if indent else None).decode())


def echo_lines(lines: Iterable[str]) -> None:
    """Prints lines of text."""
    for line in lines:
        typer.echo(line)


def counted(number: int, noun: str) -> str:
    """``1 case``, ``3 cases``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def refuse_bad_lines(rejects: Sequence["Reject"], strict: bool) -> None:
    """Under ``--strict`` ends a command at a line that could not be read.

    Raises:
        BadLineError: naming the first one and how many there are.
    """
    if strict and rejects:
        more = f" (the first of {len(rejects)} bad lines)" if len(rejects) > 1 else ""
        raise BadLineError(f"{rejects[0]}{more}")


def rejects_path(out: Path | None, store: StoreLocation) -> Path:
    """The file for unusable lines: beside the output, else beside the store's file, else in the current folder."""
    beside = store if isinstance(store, Path) else "metajudge"
    return Path(f"{out or beside}.rejects.jsonl")


def store_path(given: str | Path | None) -> StoreLocation:
    """The store to use: as given, else from the environment, else ``metajudge.db`` here.

    Raises:
        StoreError: it is to be a ``metajudge.db`` that does not exist, and beside it is one of version 0.2.
    """
    _typed[:] = store_words(given)
    where = store_location(given) if given is not None else Settings.load().store
    if given is None and isinstance(where, Path) and where.name == DEFAULT_STORE.name and not where.exists():
        old = where.with_name(_OLD_DEFAULT)
        if old.exists():
            raise copy_first(old)
    keeps_state_in(where)
    return where


JsonFileOption = Annotated[Path | None, typer.Option(help="Write every figure as JSON to a file.", metavar="OUT.json")]


@dataclass(frozen=True, slots=True)
class Outputs:
    """What ``--json-out`` and ``--report`` name, and whether ``--json`` prints JSON in place of text."""

    json_out: JsonFileOption = None
    report: ReportOption = None
    as_json: JsonOption = False

    def check(self, *others: Path | None) -> None:
        """Fails before any work is done if a file cannot be written.

        Args:
            others: further files of the command.

        Raises:
            ConfigurationError: a file that cannot be written, or a report of an unknown kind.
        """
        for path in (*others, self.json_out):
            if path is not None:
                check_writable(path)
        check_reports(self.report)

    def tell(self, line: str) -> None:
        """Prints a line of text; beside JSON on standard output, on standard error."""
        typer.echo(line, err=self.as_json)

    def write(self, text: Callable[[], str], report: "Callable[[], Report]") -> None:
        """Writes the files asked for and names them; prints the JSON if that is asked for."""
        self.put(text, report)
        say_written(self.json_out, *(self.report or ()), err=self.as_json)

    def put(self, text: Callable[[], str], report: "Callable[[], Report] | None" = None) -> None:
        """The same without naming the files; without ``report`` there is none."""
        data = text() if self.as_json or self.json_out is not None else ""
        if self.json_out is not None:
            write_text(self.json_out, data)
        if self.as_json:
            typer.echo(data, nl=False)
        if self.report and report is not None:
            from metajudge.report.files import write_report

            page = report()
            for path in self.report:
                write_report(page, path)


def tell(as_json: bool, data: Mapping[str, object], lines: Iterable[str], *, indent: bool = False) -> None:
    """Prints what a command found: as one JSON object where that is asked for, else as lines of text."""
    if as_json:
        echo_json(data, indent=indent)
    else:
        echo_lines(lines)


def check_reports(paths: Sequence[Path] | None) -> None:
    """Refuses, before any work, a report that could not be written; most commands write none, and import nothing.

    Raises:
        InputError: see :func:`metajudge.report.files.check_report_path`.
    """
    if paths:
        from metajudge.report.files import check_report_path

        for path in paths:
            check_report_path(path)


def versioned(data: Mapping[str, object]) -> str:
    """A JSON object that says the version of its format, as a text of several lines."""
    return orjson.dumps({"version": 1, **data}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def say_written(*paths: Path | None, err: bool = False) -> None:
    """Names each file written."""
    for path in paths:
        if path is not None:
            typer.echo(f"Written: {path}", err=err)
