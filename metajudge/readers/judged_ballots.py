"""Ballots from judgments of other tools: who judged ranks the models, where they are named, else the responses."""

from fractions import Fraction

from metajudge.errors import InputError
from metajudge.readers.ballots import BallotFile, FileBallot, Groups
from metajudge.readers.containers import Container, container_of
from metajudge.readers.detect import Shape, shape_of
from metajudge.readers.lines import Line, Reject, Source, read_lines
from metajudge.readers.saved_maps import saved_map
from metajudge.readers.source import open_judgments
from metajudge.types import Grade, Judgment, Pairwise

_BALLOT = ("ranking", "verdict")


def holds_foreign_judgments(source: Source) -> bool:
    """Whether a file holds judgments of other tools; the verdicts of our own records are ballots as they are."""
    if source.path.is_dir() or saved_map(source.path) is not None:
        return True
    container = container_of(source)
    if container is not Container.LINES:
        return container is not Container.CSV
    first = next((line.data for line in read_lines(source) if isinstance(line, Line)), {})
    known = (Shape.UNKNOWN, Shape.JUDGMENTS)
    return shape_of(first) not in known and not any(key in first for key in _BALLOT)


def read_judged_ballots(source: Source) -> BallotFile:
    """Reads every verdict as a ballot; a grade, and a judgment without a verdict, is left out with its reason.

    Raises:
        InputError: the file holds no judgments that can be read.
    """
    ballots: list[FileBallot] = []
    rejects: list[Reject] = []
    for number, record in enumerate(open_judgments([source.path]).scan(), start=1):
        if isinstance(record, Reject):
            rejects.append(record)
            continue
        try:
            ballots.append(FileBallot(_ranking(record), Fraction(1), record.judge, record.item.id, number))
        except InputError as error:
            rejects.append(Reject(source.name, number, f"{record.id}: {error}", str(record.verdict)))
    return BallotFile(source.name, "judgments", None, tuple(ballots), tuple(rejects))


def _ranking(judgment: Judgment) -> Groups:
    verdict, models = judgment.verdict, judgment.item.models or {}
    if verdict is None:
        raise InputError(f"no verdict ({judgment.no_verdict})")
    if isinstance(verdict, Grade):
        raise InputError("a grade of one response is no ballot")
    named = set(verdict.ids) <= models.keys()
    if named and len({models[name] for name in verdict.ids}) < len(verdict.ids):
        raise InputError("one model wrote several of the responses")
    groups: Groups
    if isinstance(verdict, Pairwise):
        groups = ((verdict.first,), (verdict.second,)) if verdict.strength else ((verdict.first, verdict.second),)
    else:
        groups = verdict.groups
    return tuple(tuple(models[name] if named else name for name in group) for group in groups)
