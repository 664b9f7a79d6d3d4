"""``metajudge calibrate history``: the stored fits that answer for a judge's verdicts that stand alone."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated

import orjson
import typer

from metajudge.cli.loop import with_store
from metajudge.cli.options import JsonOption, StoreOption
from metajudge.errors import InputError
from metajudge.store import Store
from metajudge.vetting.history import Version, fit_history, put_in_force, versions


def history(
    judge: Annotated[
        str | None, typer.Option(help="Fit to this judge's labelled judgments in the store.", metavar="NAME")
    ] = None,
    activate: Annotated[
        int | None,
        typer.Option(help="Put this version of the judge's history in force instead; 0 for none.", min=0, metavar="N"),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit P(right) for verdicts of one judge that stand alone, as `POST /v1/vet` gets them; without --judge list fits.

    A fit is made for each kind of verdicts and each instruction to the judge with 30 labelled questions or more (items'
    labels, and people's reviews). It is kept in the store as a new version and put in force; a running service answers
    by it within two seconds.
    """
    if activate is not None and judge is None:
        raise InputError("--activate is a version of one judge's history: name it with --judge")
    found, refused = with_store(store, partial(_changed, judge=judge, activate=activate))
    if as_json:
        shown = [asdict(one) | {"about": one.about._asdict()} for one in found]
        typer.echo(orjson.dumps({"versions": shown, "not_fitted": refused}, option=orjson.OPT_INDENT_2).decode())
    else:
        for line in _lines(found, refused):
            typer.echo(line)
    if judge is not None and activate is None and not found:
        raise InputError(f"nothing of the history of {judge!r} can be fitted: {'; '.join(refused) or 'no verdict'}")


async def _changed(store: Store, *, judge: str | None, activate: int | None) -> tuple[list[Version], list[str]]:
    if judge is None:
        return await versions(store), []
    if activate is None:
        return await fit_history(store, judge, now=time.time())
    await put_in_force(store, judge, activate, now=time.time())
    return await versions(store, judge), []


def _lines(found: Sequence[Version], refused: Sequence[str]) -> Sequence[str]:
    lines = [
        f"{one.about.judge} version {one.number}, {one.about}: {one.questions} labelled questions ({one.labels} labels "
        f"of items, {one.people} of reviews), calibration {one.calibration}{', in force' if one.in_force else ''}"
        for one in found
    ]
    return [*(lines or ["No fit of a history."]), *(f"Not fitted, {one}" for one in refused)]
