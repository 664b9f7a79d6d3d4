"""How a command's help is laid out: options under titles where there are many, examples, exit codes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from typer.core import TyperCommand

from metajudge.cli.examples import examples_of

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter

FEW = 14
"""A command with no more options lists them under one title."""

OPTIONS = "Options"
MODELS = "Models and method"
INPUT = "Input"
LABELS = "Labels"
TABLES = "Reading tables"
DECIDE = "Deciding"
OUTPUT = "Output"
SPEND = "Cost and speed"
BATCH = "Batches of the providers"
SELECT = "What is exported"

_TITLES: Mapping[str, str] = {
    name: title
    for title, names in {
        MODELS: (
            "agent config rubric strategy threshold families prompt-version temperature max-tokens effort "
            "thinking-budget criteria-model criteria-temperature criteria-max-tokens candidate candidates model "
            "observers voters judge-weight candidate-weight quorum repeats cycles regenerate ties with-reference "
            "keep-names attempts orders grade combined rule include-self evaluator without top-k resamples baseline "
            "grid signals kind pooled share folds no-early-exit seed seeds agent-scores prior"
        ),
        INPUT: "data questions rankings responses limit category reviews",
        LABELS: "labels on labels-map right human",
        TABLES: "map map-values prefix-ids strict unit",
        DECIDE: (
            "calibration allow-other-calibration policy review-sample audit-share reviewers no-label-free fail-under "
            "webhook target delta procedure most-per-question schedule looks accept-changed-labels by review "
            "within max-cost-usd max-latency-s"
        ),
        OUTPUT: "out json json-out report markdown store judgments details scores compare-people",
        SPEND: (
            "concurrency requests-per-minute dry-run budget-usd budget-calls budget-tokens budget-file workers "
            "keep-failures"
        ),
        BATCH: "batch batch-wait batch-live-below batch-size batch-poll",
        SELECT: (
            "run decision panel since until assessments accepted kept min-probability guarantee all ignore-decisions "
            "conflicts reconcile pairing quality-pairs by-label balance-length dedupe near-threshold decontaminate "
            "ngram from-grades pass-mark personal-data"
        ),
    }.items()
    for name in names.split()
}
"""Option -> the title it is listed under; others are listed last."""

ORDER = (SELECT, MODELS, INPUT, LABELS, TABLES, DECIDE, OUTPUT, SPEND, BATCH, "Other options")

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
    """Arguments, then options by title, in the order of :data:`ORDER`; one title where there are few."""
    yield "Arguments", [one for one in params if one.param_type_name == "argument"]
    options = [one for one in params if one.param_type_name == "option"]
    if len(options) <= FEW:
        yield OPTIONS, options
        return
    groups: dict[str, list[Parameter]] = {}
    for one in options:
        groups.setdefault(_title(one), []).append(one)
    for title in ORDER:
        if title in groups:
            yield title, groups[title]


def _title(option: "Parameter") -> str:
    name = option.opts[0].removeprefix("--")
    if getattr(option, "metavar", None) == _MODEL:
        return MODELS
    if name == "judge":
        return INPUT
    return _TITLES.get(name, ORDER[-1])
