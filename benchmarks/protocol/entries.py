"""Our own entries and the baselines, as files of scores like anybody's.

``base rate`` and ``calibrated out of fold`` read labels, but never those of the question they score. ``random``,
``majority of peers``, ``Dawid-Skene``, ``free evidence`` and ``label-free`` read no label.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from metajudge import __version__
from metajudge.calibration.folds import question_split
from metajudge.errors import InputError
from metajudge.files.output import write_text
from metajudge.scoring import exceeds
from metajudge.types import Judgment

from ..label_free import methods_of
from ..live.records import lines_of
from ..out_of_fold import fit_out_of_fold
from .items import Asked
from .scores import VetterScore

THRESHOLD = 4.5
"""Above which free evidence keeps."""

SEED = 0
NO_EVIDENCE = "no evidence in these records"
NO_FIT = "the judgment was not in the fit"

OF_AGREEMENT = {
    "label-free": ("latent", True),
    "Dawid-Skene": ("dawid-skene", True),
    "majority of peers": ("peers", False),
}
"""Entry -> the method that makes it, and whether its values are probabilities."""


def write_entries(asked: Asked, folder: Path) -> tuple[list[Path], list[str]]:
    """Writes every entry that these judgments allow.

    Args:
        asked: with labels known for those that need them.
        folder: made if missing.

    Returns:
        The files, and why others are missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    judgments = [] if asked.bench is None else [one for one in asked.bench.source.all() if one.id in asked.asked]
    written, missing = [], []
    for name, make in _entries(asked, judgments):
        try:
            lines = make()
        except InputError as error:
            missing.append(f"{name}: {error}")
            continue
        path = folder / f"{re.sub('[^a-z0-9]+', '-', name.lower())}.jsonl"
        write_text(path, lines_of(lines))
        written.append(path)
    return written, missing


def _entries(asked: Asked, judgments: list[Judgment]) -> Iterator[tuple[str, Callable[[], list[VetterScore]]]]:
    yield "random", lambda: _random(judgments)
    yield "base rate", lambda: _base_rate(asked, judgments)
    yield "free evidence", lambda: _free_evidence(asked, judgments)
    bench = asked.bench
    every = [] if bench is None else list(bench.source.all())
    known: dict[str, Callable[[Judgment], float | None]] = {}
    for name, (method, probability) in OF_AGREEMENT.items():

        def agreement(name: str = name, method: str = method, probability: bool = probability) -> list[VetterScore]:
            if not known:
                known.update(methods_of(every))
            values = {one.id: known[method](one) for one in judgments}
            return _lines(name, values, judgments, probability=probability)

        yield name, agreement
    yield "calibrated out of fold", lambda: _calibrated(asked, judgments)


def _line(name: str, judgment: Judgment, value: float | None, why: str, *, probability: bool) -> VetterScore:
    return VetterScore(
        vetter=name,
        vetter_version=f"metajudge {__version__}",
        judgment_id=judgment.id,
        probability=value if probability else None,
        score=None if probability else value,
        reason=why if value is None else None,
    )


def _lines(
    name: str,
    values: Mapping[str, float | None],
    judgments: list[Judgment],
    *,
    probability: bool,
    why: str = NO_EVIDENCE,
) -> list[VetterScore]:
    if all(values.get(one.id) is None for one in judgments):
        raise InputError(f"no value for any judgment ({why})")
    return [_line(name, one, values.get(one.id), why, probability=probability) for one in judgments]


def _random(judgments: list[Judgment]) -> list[VetterScore]:
    rng = np.random.default_rng(SEED)
    ordered = sorted(one.id for one in judgments)
    values = dict(zip(ordered, rng.random(len(ordered)).tolist(), strict=True))
    return _lines("random", values, judgments, probability=False)


def _base_rate(asked: Asked, judgments: list[Judgment]) -> list[VetterScore]:
    """The share of right ones among the questions of the other half."""
    rows = asked.rows
    questions = [row.question for row in rows]
    if len(set(questions)) < 2:
        raise InputError("one question alone has no other half")
    half = question_split(questions, 0.5, SEED)
    right = np.array([row.correct for row in rows])
    shares = [float(right[half != part].mean()) for part in (0, 1)]
    values: dict[str, float | None] = {row.judgment_id: shares[int(part)] for row, part in zip(rows, half, strict=True)}
    return _lines("base rate", values, judgments, probability=True, why=NO_FIT)


def _free_evidence(asked: Asked, judgments: list[Judgment]) -> list[VetterScore]:
    heuristic = {row.judgment_id: row.heuristic for row in asked.rows}
    found = _lines("free evidence", heuristic, judgments, probability=False)
    return [
        one
        if one.score is None
        else one.model_copy(update={"decision": "keep" if bool(exceeds(one.score, THRESHOLD)) else "discard"})
        for one in found
    ]


def _calibrated(asked: Asked, judgments: list[Judgment]) -> list[VetterScore]:
    if asked.bench is None:
        raise InputError("labels are withheld")
    fitted = fit_out_of_fold(asked.bench, 1)
    if not fitted.probabilities:
        raise InputError("; ".join(fitted.refused.values()) or "nothing could be fitted")
    return _lines("calibrated out of fold", dict(fitted.probabilities), judgments, probability=True, why=NO_FIT)
