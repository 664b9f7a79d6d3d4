"""Self-preference: candidates that judged a comparison they took part in, without knowing which answer was theirs."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..figure import Figure, Figures, absent
from .figures import PUBLISHED, Explanation, compare, share
from .records import LoggedEvaluation, Study, Vote

Reading = Callable[[LoggedEvaluation, Vote], str | None]
"""How a vote becomes a model."""


@dataclass(frozen=True, slots=True)
class SelfVote:
    """One candidate's vote on a comparison with itself.

    Attributes:
        first: whether it ranked itself first, by the stored label map.
        misread: the same where label A0 is taken for the winner of the final ranking.
    """

    model: str
    first: bool
    misread: bool
    expected: bool


def figures(study: Study) -> Figures:
    """The figures over all logged rows, and over published rows only."""
    logged = list(self_votes(study.logged))
    published = list(self_votes(row for row in study.published if row.experiment in ("mtbench", "arena")))
    return {
        **_figures("self", logged, "logged mtbench and arena rows, unpublished attempts included"),
        **_figures("self_published", published, "published mtbench and arena rows"),
    }


def self_votes(rows: Iterable[LoggedEvaluation]) -> Iterable[SelfVote]:
    """Every vote of a candidate on its own answer, where a human's choice is known and the vote names a model."""
    for row in rows:
        for vote in row.of_role("candidate"):
            own = next((model for model in row.pair if model in (vote.judge, vote.model)), None)
            choice = row.choice(vote)
            if own is not None and choice is not None and row.labelled:
                yield SelfVote(own, choice == own, _misread(row, vote) == own, row.human_winner == own)


def _misread(row: LoggedEvaluation, vote: Vote) -> str | None:
    """Reads labels as places of the final ranking: A0 as the winner, A1 as the loser."""
    if row.ai_winner is None:
        return None
    loser = next(model for model in row.pair if model != row.ai_winner)
    return row.ai_winner if vote.first_label == min(row.label_map or {"": ""}) else loser


def _figures(prefix: str, votes: list[SelfVote], which: str) -> Figures:
    case = f"{which}, in which a candidate also judged, read by the stored label map"
    misread = Explanation(
        how="the share where label A0 is read as the winner of the final ranking, not by the label map of the row",
        value=100 * sum(vote.misread for vote in votes) / max(1, len(votes)),
    )
    n = len(votes)
    found: Figures = {
        f"{prefix}.first": share(sum(v.first for v in votes), n, f"{case}: it ranked itself first", misread),
        f"{prefix}.expected": share(
            sum(v.expected for v in votes), n, f"{which}, in which a candidate also judged: the human chose it"
        ),
    }
    groups: defaultdict[str, list[SelfVote]] = defaultdict(list)
    for vote in votes:
        groups[vote.model].append(vote)
    known = {name.removeprefix(f"{prefix}.by_model.") for name in PUBLISHED if name.startswith(f"{prefix}.by_model.")}
    for model in sorted(groups.keys() | known, key=lambda model: (-len(groups.get(model, [])), model)):
        found[f"{prefix}.by_model.{model}"] = _of_model(groups.get(model, []), which)
    return found


def _of_model(votes: list[SelfVote], which: str) -> Figure:
    definition = (
        f"{which}, in which this model judged its own answer: percent it ranked itself first (by the stored label "
        "map), percent in which the human chose it, and their difference in points; interval: Wilson's of first"
    )
    if not votes:
        return absent(definition, "This model judged no comparison of its own in these data.")
    n = len(votes)
    first, expected, misread = (
        100 * sum(readings) / n
        for readings in ([v.first for v in votes], [v.expected for v in votes], [v.misread for v in votes])
    )
    value = {"first": first, "expected": expected, "difference": first - expected, "n": n}
    explained = Explanation(
        how=f"from first = {misread:.1f}, where label A0 is read as the winner of the final ranking",
        value={"difference": misread - expected, "n": n},
    )
    interval = share(sum(v.first for v in votes), n, "").interval
    return compare(value, n, definition, interval, explained)
