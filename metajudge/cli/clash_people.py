"""``metajudge clash --compare-people``: the panel against people, beside what others report."""

from dataclasses import asdict
from pathlib import Path

import orjson
import typer

from metajudge.clashes.concordance import CEILING, PRIOR_WORK, SOURCE, Concordance, concordance
from metajudge.clashes.reviews import calls_of, clashes_in, labelled_calls, read_clashes, review_of_clash
from metajudge.cli.options import store_path
from metajudge.cli.outputs import versioned
from metajudge.cli.stored import with_store
from metajudge.errors import InputError
from metajudge.files.output import write_text
from metajudge.report.document import Absent, Column, Table
from metajudge.report.tables import table_to_text
from metajudge.reviews.review import ReviewStatus


def compare_with_people(
    records: str | None, store: str | None, json_out: Path | None, *, as_json: bool = False
) -> None:
    """Prints how often the panel agrees with people.

    Args:
        records: a file of ``metajudge clash``; where it is given, the labels in it are calls, and of the store only the
            evaluations in it count.
        store: as given with ``--store``.
        json_out: a file for the same as JSON; None for none.
        as_json: whether to print JSON in place of text.

    Raises:
        InputError: no call at all; says how to get some.
    """
    made = [] if records is None else read_clashes(_content(records), records, limited=False)
    labels_alone = records is not None and not store_path(store).exists()
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
    text = versioned(_json(found, waiting))
    if json_out is not None:
        write_text(json_out, text)
    if as_json:
        typer.echo(text, nl=False)
        return
    for line in _lines(found, waiting):
        typer.echo(line)


def _content(records: str) -> bytes:
    try:
        return Path(records).read_bytes()
    except OSError as error:
        raise InputError(f"{records}: cannot be read: {error}") from None


def _lines(found: Concordance, waiting: int) -> list[str]:
    rows = (
        ("all with a call", found.overall),
        ("unanimous", found.unanimous),
        ("divided", found.divided),
    )
    lines = ["Panel against people: share of evaluations with the same winner (or both a tie), 95 % Wilson interval."]
    lines += [f"  {name}: {'no call' if one is None else one.words()}" for name, one in rows]
    if found.seen is not None:
        lines.append(f"  not counted, decided after the panel's verdict was seen: {found.seen.words()}")
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


def _json(found: Concordance, waiting: int) -> str:
    data = {
        "concordance": asdict(found),
        "waiting": waiting,
        "reported_elsewhere": {"source": SOURCE, "rows": [asdict(one) for one in PRIOR_WORK]},
    }
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
