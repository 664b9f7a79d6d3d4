"""Whether a calibration of given judgments can be advised: whether `metajudge calibrate fit` would make one of them."""

from collections.abc import Iterable

from metajudge.calibration.fit import why_not_fit
from metajudge.calibration.folds import SPLIT_SHARE, question_split, use_of
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from metajudge.types import Judgment, Right


def why_no_calibration(judgments: Iterable[Judgment], right: Right | None = None) -> str | None:
    """The sentence with which a fit with default options would refuse the judgments; None where it fits.

    Nothing is fitted: a fit of what passes can take long, but does not fail.
    """
    try:
        table = build_table(judgments, None, right=right)
        labelled = {question for question, one in zip(table.questions, table.labelled, strict=True) if one}
        if use_of(len(labelled))[0] == "split":
            table = table.select(question_split(table.questions, SPLIT_SHARE, 0) == 0)
        return why_not_fit(table.without_absent()[0])
    except InputError as error:
        return str(error)
