"""``metajudge clash``: candidates answer, a blind panel ranks them, rankings are counted and compared with people."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from metajudge.clashes.concordance import (
    CEILING,
    PRIOR_WORK,
    SOURCE,
    Concordance,
    by_category,
    concordance,
    self_preference,
    words,
)
from metajudge.clashes.pareto import WITHIN, Limits
from metajudge.clashes.record import ClashRecord, judgments_of_clash
from metajudge.clashes.reviews import calls_of, clashes_in, labelled_calls, open_reviews, read_clashes, review_of_clash
from metajudge.clashes.run import ClashResult, ClashTotals, estimate_clash
from metajudge.clashes.run import clash as run_clash
from metajudge.clashes.setup import Asked, ClashSettings, load_candidates, open_asked, repeat_numbers
from metajudge.clashes.standings import standings_of
from metajudge.cli import options
from metajudge.cli.clash_report import Written, print_clash, report_of
from metajudge.cli.loop import with_store
from metajudge.cli.sending import Spending, print_estimate, takes_budget
from metajudge.errors import ConfigurationError, InputError
from metajudge.files.output import check_apart
from metajudge.outcomes.sending import webhook_of
from metajudge.panels.config import PanelConfig, with_flags
from metajudge.reading.jsonl import write_jsonl
from metajudge.report.document import Absent, Column, Table
from metajudge.report.tables import table_to_text
from metajudge.reviews.review import ReviewStatus
from metajudge.runs.loop import Stop
from metajudge.runs.progress import Progress
from metajudge.session import Session
from metajudge.settings import Settings


def compare_with_people(records: str | None, store: str | None, outputs: options.Outputs) -> None:
    """Prints how often the panel agrees with people.

    Args:
        records: a file of ``metajudge clash``; where it is given, the labels in it are calls, and of the store only the
            evaluations in it count.
        store: as given with ``--store``.
        outputs: where the same is written as JSON.

    Raises:
        InputError: no call at all; says how to get some.
    """
    made = [] if records is None else read_clashes(_content(records), records, limited=False)
    labels_alone = records is not None and not options.store_path(store).exists()
    states = [] if labels_alone else with_store(store, clashes_in, maker="clash")
    if made:
        ids = {review_of_clash(record, now=0.0).review_id: record for record in made if len(record.answered) > 1}
        states = [state for state in states if state.review.review_id in ids]
        called = {
            state.review.review_id for state in states if any(one.agrees is not None for one in calls_of([state]))
        }
        made = [record for review, record in ids.items() if review not in called]  # a decision goes before a label
    calls = [*calls_of(states), *labelled_calls(made)]
    waiting = sum(state.status is not ReviewStatus.DECIDED for state in states)
    if not calls:
        raise InputError(
            f"no call of people on a clash is in the store ({waiting} reviews wait): decide some with "
            "`metajudge review next --reviewer NAME`, or give prompts with labels and name the file of records"
        )
    found = concordance(calls)
    elsewhere = {"source": SOURCE, "rows": [asdict(one) for one in PRIOR_WORK]}
    data = {"concordance": found.to_json(), "waiting": waiting, "reported_elsewhere": elsewhere}
    outputs.put(lambda: options.versioned(data))
    options.echo_lines(_lines(found, waiting) if not outputs.as_json else ())


def _content(records: str) -> bytes:
    try:
        return Path(records).read_bytes()
    except OSError as error:
        raise InputError(f"{records}: cannot be read: {error}") from None


def _lines(found: Concordance, waiting: int) -> list[str]:
    rows = (("all with a call", found.overall), ("unanimous", found.unanimous), ("divided", found.divided))
    lines = ["Panel against people: share of evaluations with the same winner (or both a tie), 95 % Wilson interval."]
    lines += [f"  {name}: {'no call' if one is None else words(one)}" for name, one in rows]
    if found.seen is not None:
        lines.append(f"  not counted, decided after the panel's verdict was seen: {words(found.seen)}")
    lines += [f"  not counted, {why}: {count}" for why, count in sorted(found.left_out.items())]
    if waiting:
        lines.append(f"  {waiting} {'waits' if waiting == 1 else 'wait'} for people.")
    if found.unanimous is None or found.divided is None:
        lines.append("  All calls are of one kind, so the first line is not the agreement on all prompts.")
    lines += [found.promise, "", table_to_text(prior_work_table())]
    return lines


def prior_work_table() -> Table:
    """What others report, with its source and its warning."""
    columns = tuple(Column(title=title) for title in ("who", "on", "agreement", "kappa", "reported by"))
    not_reported = Absent(absent="not reported")
    rows = tuple(
        (one.method, one.benchmark, one.agreement or not_reported, one.kappa or not_reported, one.reference)
        for one in PRIOR_WORK
    )
    ceiling = f"People themselves agree in {CEILING} of such comparisons; no panel can be expected to do much better."
    return Table(caption="For comparison", columns=columns, rows=rows, notes=(f"{SOURCE}.", ceiling))


SPEC = "[NAME=]PROVIDER:MODEL[@BASE_URL]"


@dataclass(frozen=True)
class _Method:
    """How answers are made and judged: options with the names of the settings."""

    observers: Annotated[
        bool, typer.Option("--observers", help="Candidates also rank all answers; shown, never counted.")
    ] = False
    voters: Annotated[
        bool, typer.Option("--voters", help="Candidates also rank all answers and vote, with weight 1 (judges: 2).")
    ] = False
    judge_weight: Annotated[float | None, typer.Option(help="Weight of each judge; default 1, with --voters 2.")] = None
    candidate_weight: Annotated[
        float | None, typer.Option(help="With --voters: weight of each candidate's vote; default 1.")
    ] = None
    quorum: Annotated[
        int | None, typer.Option(help="Judges that must give a ranking; default: more than half of the panel.")
    ] = None
    repeats: Annotated[int, typer.Option(help="Judge the same answers N times, with new labels each time.", min=1)] = 1
    cycles: Annotated[int, typer.Option(help="With --regenerate: repeat N times with new answers.", min=1)] = 1
    regenerate: Annotated[bool, typer.Option("--regenerate", help="Generate new answers in every cycle.")] = False
    ties: Annotated[bool, typer.Option("--ties", help="Judges may leave responses tied.")] = False
    with_reference: Annotated[bool, typer.Option("--with-reference", help="Judges see an item's reference answer.")] = (
        False
    )
    keep_names: Annotated[
        bool, typer.Option("--keep-names", help="Do not hide names of models and providers in responses.")
    ] = False
    temperature: Annotated[float | None, typer.Option(help="Temperature of the candidates' answers.", min=0, max=2)] = (
        None
    )
    max_tokens: Annotated[int | None, typer.Option(help="Maximum tokens of a candidate's answer.", min=1)] = None
    criteria_temperature: Annotated[float, typer.Option(help="Temperature of the criteria.", min=0, max=2)] = 0.3
    criteria_max_tokens: Annotated[int, typer.Option(help="Maximum tokens of the criteria.", min=1)] = 150
    seed: Annotated[int, typer.Option(help="Seed of the labels; recorded.")] = 0
    attempts: Annotated[
        int, typer.Option(help="Maximum attempts at an evaluation with a failed call, over all runs.", min=1)
    ] = 3

    def settings(self, panel: PanelConfig, *, given: bool) -> ClashSettings:
        """The settings of a clash over a panel's candidates.

        Raises:
            ConfigurationError: options that contradict one another.
        """
        if self.cycles > 1 and not self.regenerate:
            raise ConfigurationError("--cycles needs new answers in each cycle: add --regenerate, or use --repeats")
        if self.regenerate and given:
            raise ConfigurationError("--regenerate cannot be used with --responses given: leave one of them out")
        same = {name: value for name, value in vars(self).items() if name not in ("regenerate", "keep_names")}
        hide, criteria = not self.keep_names, panel.criteria
        return ClashSettings(panel.candidates, criteria_model=criteria, given=given, hide_identities=hide, **same)


@takes_budget
@options.takes("method", _Method)
@options.takes("judges", options.Judges, "max_tokens")  # that is a setting of the candidates here
def clash(
    prompt: Annotated[
        str | None,
        typer.Argument(
            help="A prompt, or a file of them (JSONL: id, question, and responses where they are given).",
            metavar="PROMPT",
        ),
    ] = None,
    *,
    judges: options.Judges,
    candidate: Annotated[
        list[str] | None, typer.Option(help=f"A model that answers: {SPEC}. Repeat.", metavar="SPEC")
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with [[candidates]]: model, name, system, price, parameters, headers, api_key_env.",
            metavar="FILE",
        ),
    ] = None,
    criteria_model: Annotated[
        str | None,
        typer.Option(
            help="Model that proposes criteria for each prompt; default: four generic criteria.", metavar="SPEC"
        ),
    ] = None,
    responses: Annotated[
        Literal["generate", "given"],
        typer.Option(help="Have the candidates answer, or judge the responses given in the file."),
    ] = "generate",
    method: _Method,
    limit: Annotated[int | None, typer.Option(help="Only the first N prompts.", min=1)] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Append every attempt to this file (JSONL); required for a file of prompts.", metavar="FILE"),
    ] = None,
    judgments: Annotated[
        Path | None, typer.Option(help="Write the rankings as judgments (JSONL) that `vet` reads.", metavar="FILE")
    ] = None,
    as_json: options.JsonOption = False,
    json_out: options.JsonFileOption = None,
    report: options.ReportOption = None,
    store: options.StoreOption = None,
    spending: Spending,
    strict: options.StrictOption = False,
    max_cost_usd: Annotated[
        float | None, typer.Option(help="Choose among candidates whose answers cost at most this, on average.")
    ] = None,
    max_latency_s: Annotated[
        float | None, typer.Option(help="Choose among candidates that answer within this, on average.")
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(help=f"Choose the cheapest within this percentage of the best quality; default {WITHIN:g}."),
    ] = None,
    review: Annotated[
        bool | None,
        typer.Option(
            "--review/--no-review",
            help="Put evaluations without a unanimous panel into the review queue: default those of this run; --review "
            "also those of earlier runs in --out.",
        ),
    ] = None,
    review_sample: Annotated[
        float,
        typer.Option(help="Fraction of the unanimous evaluations that people decide, too: their check.", min=0, max=1),
    ] = 0.0,
    compare_people: Annotated[
        bool,
        typer.Option(
            "--compare-people",
            help="Compare the panel with people's decisions in the store, and labels in PROMPT, a file of records.",
        ),
    ] = False,
    dry_run: options.DryRunOption = False,
) -> None:
    """Compare models' answers: every judge ranks all of them without seeing whose they are; Borda points decide.

    A tie is a valid result. Judges see only the question, the criteria and the answers under neutral labels, in a
    random order for each judge. A judge without a ranking still counts in every denominator. Replies are kept in the
    store and every attempt in --out: run the same command again to resume.

    Evaluations without a unanimous panel enter the review queue: `metajudge review next` shows them, --compare-people
    says how often the panel agrees with people.

    Exit code 1: a verdict, an answer or a ranking is missing.
    """
    outputs = options.Outputs(json_out, report, as_json)
    if compare_people:
        compare_with_people(prompt, store, outputs)
        return
    if prompt is None:
        raise typer.BadParameter("give a prompt, or a file of them", param_hint="PROMPT")
    given = responses == "given"
    limits = None
    if max_cost_usd is not None or max_latency_s is not None or within is not None:
        limits = Limits(max_cost_usd, max_latency_s, WITHIN if within is None else within)
    panel = judges.of(judges.judge, criteria=criteria_model)
    configured = panel.candidates if candidates is None else load_candidates(candidates)
    panel = with_flags(panel, candidates=(*(candidate or ()), *configured))
    settings = method.settings(panel, given=given)
    settings.check()
    options.need_judges(panel)
    outputs.check(out, judgments)
    asked = open_asked(prompt, given=given, limit=limit)
    options.refuse_bad_lines(asked.rejects, strict)
    check_apart([prompt] if asked.from_file else [], [out, judgments, json_out, *(report or ())])
    if dry_run:
        estimate = estimate_clash(settings, panel, settings.items(asked.items))
        work = f"{len(asked.items)} prompts, {estimate.judgments} evaluations, at most {estimate.calls} calls"
        shown = panel if settings.asks_candidates else panel.model_copy(update={"candidates": ()})
        print_estimate(estimate, work, shown, "clash")
        return
    if asked.from_file and out is None:
        raise typer.BadParameter("a file of prompts needs --out FILE: every attempt is kept there", param_hint="--out")
    hook = webhook_of(Settings.load())
    made: set[str] = set()

    async def ranked(session: Session, stop: Stop, progress: Progress) -> tuple[ClashResult, dict[str, str]]:
        """The run, then the queue: evaluation -> review, of all that are in it."""
        session.connect()

        def note(record: ClashRecord, reused: bool) -> None:
            if not reused and record.everybody_asked:  # the same command completes the others: they wait for that
                made.add(record.key)
            progress.update()

        found = await run_clash(session, asked.items, settings, out=out, totals=totals, stop=stop, on_record=note)
        if review is False:
            return found, {}
        adding = None if review else made  # without --review what this run made, with it everything in its file
        return found, await open_reviews(session.store, found.records, sample=review_sample, adding=adding)

    totals = ClashTotals(bad_lines=len(asked.rejects))
    steps = len(asked.items) * method.cycles * len(repeat_numbers(method.repeats))
    found, reviews = spending.run(ranked, totals, steps, panel, options.store_path(store), "clash", webhook=hook)
    _write(found, asked, limits, Written(out, judgments, reviews), outputs)
    raise typer.Exit(found.totals.exit_code)


def _write(found: ClashResult, asked: Asked, limits: Limits | None, written: Written, outputs: options.Outputs) -> None:
    records, totals = found.records, found.totals
    standings = standings_of(records, limits)
    lead, choice = standings.lead, standings.choice
    figures, table = _cycle_figures(records)
    if written.judgments is not None:
        judgments = (one for record in records for one in judgments_of_clash(record))
        totals.judgments_written = write_jsonl(written.judgments, judgments)
    for reject in asked.rejects[:5]:
        typer.echo(f"metajudge: {reject}", err=True)
    if not outputs.as_json:
        print_clash(records, totals, standings, written, cycles=table)

    def data() -> dict[str, Any]:
        """All but the whole records, which are in ``--out``."""
        return {
            "summary": totals.to_json(),
            "standings": [one.model_dump() for one in standings.candidates],
            **({} if lead is None else {"lead": lead.to_json()}),
            **({} if choice is None else {"choice": {**asdict(choice), "sentence": choice.sentence()}}),
            "categories": by_category(records),
            "self_preference": [one.to_json() for one in self_preference(records)],
            **({"cycles": figures} if figures else {}),
            "reviews": dict(written.reviews),
            "evaluations": [record.model_dump(mode="json") for record in records],
        }

    outputs.put(lambda: options.versioned(data()), lambda: report_of(records, totals, standings))


def _cycle_figures(records: Sequence[ClashRecord]) -> tuple[dict[str, object], Table | None]:
    """Stability of the winners over cycles, as data and as a table; nothing for one cycle."""
    if len({record.cycle for record in records}) < 2:
        return {}, None
    # Mapped into the package from another folder, which type checkers cannot follow.
    figures = import_module("metajudge.benchmarks.reliability.analysis").cycle_figures(records)
    table = import_module("metajudge.benchmarks.figure").figure_table("Over cycles", figures)
    return {name: figure.entry() for name, figure in figures.items()}, table
