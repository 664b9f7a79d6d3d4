"""``metajudge diff``: what does another panel, rubric or threshold change, judgment by judgment?"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer

from metajudge.cli.inputs import AS_THEY_ARE, Labelling, Reading, RightOption, reads_judgments
from metajudge.cli.loop import run
from metajudge.cli.options import JsonOption, ResamplingSeedOption, StoreOption, store_path, tell
from metajudge.errors import ConfigurationError
from metajudge.evidence.units import ITEM, QUESTION
from metajudge.types import Right, VerdictKind
from metajudge.types.right import DEFAULTS
from metajudge.vetting.comparison import Comparison, Difference, Side, by_labels, compare
from metajudge.vetting.recorded_sides import labelled_by, load_sides

SHOWN = 10
_RUN_HELP = "A run's id, a store's file, or a file of `vet --out`."


@reads_judgments
def diff(
    first: Annotated[str, typer.Argument(help=_RUN_HELP, metavar="RUN1")],
    second: Annotated[str, typer.Argument(help=_RUN_HELP, metavar="RUN2")],
    labels: Annotated[
        list[str] | None,
        typer.Option(help="Judgments with labels, for files of assessments, which contain none. Repeatable."),
    ] = None,
    store: StoreOption = None,
    right: RightOption = None,
    seed: ResamplingSeedOption = 0,
    as_json: JsonOption = False,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Compare two runs over the same judgments, paired: what is kept, scores, and precision if there are labels.

    Differences are second minus first, with a 95 % interval from resampled questions (items, where no text is known);
    if every one has one judgment, McNemar's exact test compares the shares kept. Exit codes: 0 compared, 2 nothing to
    compare.
    """
    if reading.unit not in (None, ITEM, QUESTION) and not labels:
        raise ConfigurationError(f"--unit {reading.unit} is a field of judgments: give them with --labels")
    where = store_path(store)
    sides = labelled_by(run(load_sides(first, second, where)), reading.open(labels) if labels else ())
    one, other, rules = by_labels(*sides, Labelling(right=right).rule)
    found = compare(one, other, seed=seed, unit=reading.unit)
    tell(as_json, _plain(one, other, found, rules), _lines(one, other, found, rules))


def _plain(one: Side, other: Side, found: Comparison, rules: Mapping[VerdictKind, Right]) -> dict[str, object]:
    differences = ("kept", "score", "precision")
    data = {name: value for name, value in asdict(found).items() if name not in differences}
    data |= {name: getattr(found, name).to_json() for name in differences}
    data["right"] = {kind: str(rule) for kind, rule in rules.items()}
    return {"first": one.name, "second": other.name, **data, "notes": [*one.notes, *other.notes]}


def _lines(one: Side, other: Side, found: Comparison, rules: Mapping[VerdictKind, Right]) -> list[str]:
    changed = len(found.gained) + len(found.lost)
    lines = [
        f"{found.paired} judgments in both {one.name} and {other.name}",
        f"  kept by both {found.both_kept}, by neither {found.neither_kept}, only by the first {len(found.lost)}, "
        f"only by the second {len(found.gained)}",
    ]
    left_out = (
        (found.undecided[0], "have no decision in the first"),
        (found.undecided[1], "have no decision in the second"),
        (found.only_first, "are in the first alone"),
        (found.only_second, "are in the second alone"),
        (found.changed_content, "share an id but not their content"),
    )
    lines += [f"  not compared: {count} {why}" for count, why in left_out if count]
    lines.append(f"Kept        {_shares(found.kept, percent=True)}")
    lines.append(f"Mean score  {_shares(found.score, percent=False)}")
    lines.append(f"Precision   {_shares(found.precision, percent=True)}")
    if any(rule != DEFAULTS["pairwise"] for rule in rules.values()):
        lines.append(f"  right by: {', '.join(f'{kind} {rule}' for kind, rule in rules.items())} (--right changes it)")
    if found.right_gained[1] or found.right_lost[1]:
        (right, gained), (right_lost, lost) = found.right_gained, found.right_lost
        lines.append(
            f"  of the labelled ones gained {right} of {gained} are right, of those lost {right_lost} of {lost}"
        )
    lines += _names("Kept by the second alone", found.gained) + _names("Kept by the first alone", found.lost)
    if not changed:
        lines.append("No decision differs.")
    return lines + [f"Note: {note}" for note in (*one.notes, *other.notes)]


def _shares(found: Difference, *, percent: bool) -> str:
    if found.value is None or found.first is None or found.second is None:
        return f"not compared: {found.why_absent}"
    scale, digits, unit = (100, 1, " %") if percent else (1, 3, "")
    shown = [f"{scale * value:.{digits}f}{unit}" for value in (found.first, found.second)]
    text = f"{shown[0]} -> {shown[1]}, difference {scale * found.value:+.{digits}f}"
    if found.low is None or found.high is None:
        return f"{text} (n = {found.n}; {found.why_absent})"
    interval = f"95 % interval {scale * found.low:+.{digits}f} to {scale * found.high:+.{digits}f}"
    test = "" if found.p_value is None else f", McNemar p = {found.p_value:.3g}"
    return f"{text} ({interval}{test}; n = {found.n}, {found.items} {found.unit or 'item'}s)"


def _names(title: str, names: tuple[str, ...]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - SHOWN} more (--json has all)" if len(names) > SHOWN else ""
    return [f"{title}: {', '.join(names[:SHOWN])}{more}"]
