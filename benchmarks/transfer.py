"""What carries over: one set, one judge, one wording, one category left out, and how labels of one's own help.

    metajudge bench transfer --data DIR [--seeds 5] [--resamples 400] [--work FILE] [--json-out OUT] [--report OUT.md]

DIR has the folders of the recorded sets (any of them), or JSONL files of labelled judgments of one's own. With FILE a
run goes on where it stopped. ``--write-prior OUT`` fits the prior on all of them, with what leaving sets out showed.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from metajudge.calibration.files import shipped_prior as shipped
from metajudge.calibration.transfer import Prior, Standing
from metajudge.errors import InputError
from metajudge.types import digest

from .transfer_curve import learning_curve
from .transfer_inputs import TransferInput, read_inputs
from .transfer_prior import shipped_prior, standings_of
from .transfer_report import chart_files, markdown
from .transfer_study import Options, kept_sets, left_out_parts, left_out_sets, prior_without

METHOD = 1
"""Raised where the study's figures change, so that no run goes on with those of another version."""

SHIFTS = ("judge", "prompt", "category")

Rows = list[dict[str, Any]]


class Work:
    """Finished parts of a run in a file, one a line; without a file nothing is kept.

    Args:
        path: None for no file.
        key: of what the run depends on; parts of another run are left alone.
    """

    def __init__(self, path: Path | None, key: str) -> None:
        self._path, self._key, self._done = path, key, dict[str, Rows]()
        if path is not None and path.exists():
            text = path.read_text("utf-8")
            for line in text.splitlines():
                self._take(line)
            if text and not text.endswith("\n"):  # the run was stopped while it wrote
                path.write_text(text + "\n", "utf-8")

    def _take(self, line: str) -> None:
        try:
            one = json.loads(line)
        except json.JSONDecodeError:  # a line that was cut
            return
        if one["run"] == self._key:
            self._done[one["part"]] = one["rows"]

    def rows(self, part: str, make: Callable[[], Iterator[dict[str, Any]]]) -> Rows:
        """The rows of a part: those of the file, or made now."""
        if part not in self._done:
            self._done[part] = list(make())
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"run": self._key, "part": part, "rows": self._done[part]}) + "\n")
        return self._done[part]


def study(
    inputs: Sequence[TransferInput], prior: Prior | None, options: Options, seeds: int, work: Path | None = None
) -> dict[str, Any]:
    """All figures of the study.

    Args:
        prior: the shipped default, measured as it is; None to leave it out.
        seeds: of the learning curve.
        work: keeps finished parts.
    """
    about = [one.about().model_dump(mode="json") for one in inputs]
    frozen = None if prior is None else digest(prior.model_dump(mode="json", include={"weights", "questions"}))
    kept = Work(work, digest([METHOD, about, frozen, options.resamples, options.seed, seeds]))
    names = list(dict.fromkeys(one.name for one in inputs))

    def apart(name: str) -> Rows:
        return kept.rows(f"set {name}", lambda: left_out_sets(inputs, prior, options, only=name))

    sets = [row for name in names for row in apart(name)]
    standings = [one.model_dump(mode="json") for one in standings_of(sets)]
    found: dict[str, Any] = {"inputs": [_about(one, prior) for one in inputs], "resamples": options.resamples}
    found |= {"set": [_without_draws(row) for row in sets], "standings": standings}
    found["kept"] = [
        row
        for name in names
        for row in kept.rows(f"kept {name}", lambda: kept_sets(inputs, options, name))  # noqa: B023
    ]
    for shift in SHIFTS:
        found[shift] = [
            row
            for name in names
            for row in kept.rows(f"{shift} {name}", lambda: left_out_parts(inputs, shift, options, only=name))  # noqa: B023
        ]

    def curves(name: str) -> Iterator[dict[str, Any]]:
        without = prior_without(inputs, name)
        for one in inputs:
            if one.name == name:
                yield from learning_curve(one, without, seeds)

    found["curve"] = [row for name in names for row in kept.rows(f"curve {name}", lambda: curves(name))]  # noqa: B023
    return found


def _about(one: TransferInput, prior: Prior | None) -> dict[str, Any]:
    """What was read, and how many of its questions the shipped default was fitted on."""
    seen = 0 if prior is None else int(np.sum(prior.fitted_on(sorted(set(one.table.questions)))))
    about = one.about().model_dump(mode="json")
    judges = len(set(one.table.judges))
    return about | {"judges": judges, "questions_in_shipped": seen, "silent": one.silent, "left_out": one.left_out}


def _without_draws(row: dict[str, Any]) -> dict[str, Any]:
    states = {
        name: None if state is None else {key: value for key, value in state.items() if key != "draws"}
        for name, state in row["states"].items()
    }
    return row | {"states": states}


def main(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="The sets' folders, or labelled JSONL files.")],
    seeds: Annotated[int, typer.Option(help="Of the learning curve.", min=1)] = 3,
    resamples: Annotated[int, typer.Option(help="Draws of questions for intervals.", min=50)] = 400,
    seed: Annotated[int, typer.Option(help="Of folds and draws.")] = 0,
    work: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep finished parts here; the same command goes on from it.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Write all figures.")] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="OUT.md", help="Write the report, with its plots as SVG beside it.")
    ] = None,
    write_prior: Annotated[
        Path | None, typer.Option("--write-prior", metavar="OUT", help="Fit the prior on all of these sets.")
    ] = None,
) -> None:
    """Measure what carries over to sets, judges, wordings and categories that were left out."""
    for path in (work, out, report, write_prior):
        if path is not None and not path.absolute().parent.is_dir():
            raise InputError(f"{path}: there is no folder {path.absolute().parent}")
    inputs = read_inputs(data)
    prior = shipped()
    found = study(inputs, prior, Options(resamples, seed), seeds, work)
    if write_prior is not None:
        made = shipped_prior(
            inputs,
            [Standing.model_validate(one) for one in found["standings"]],
            made=datetime.now(UTC).date().isoformat(),
            command="metajudge bench transfer --data DIR --write-prior OUT",
        )
        write_prior.write_text(made.model_dump_json(indent=1) + "\n", "utf-8")
    if out is not None:
        out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if report is not None:
        report.write_text(markdown(found), "utf-8")
        for name, text in chart_files(found).items():
            report.with_name(name).write_text(text, "utf-8")
    typer.echo(markdown(found))


if __name__ == "__main__":
    typer.run(main)
