"""Reward margins: how much higher reward models score the preferred response."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.errors import InputError
from metajudge.evidence.consensus import Column
from metajudge.stats.arrays import Floats


@dataclass(frozen=True, slots=True)
class RewardScore:
    """One reward model's scores of an item's responses.

    Attributes:
        scores: response id -> score, on the model's own scale; higher is better.
    """

    item_id: str
    model: str
    scores: Mapping[str, float]

    def margin(self, winner: str, *losers: str) -> float | None:
        """Score of the winner minus the highest score of the losers; None where one of them was not scored."""
        if not losers or any(name not in self.scores for name in (winner, *losers)):
            return None
        return self.scores[winner] - max(self.scores[name] for name in losers)


@dataclass(frozen=True, slots=True)
class Preference:
    """What a decided verdict says about which item; a verdict without a winner prefers nothing.

    Attributes:
        winner: the response preferred; None for grades and categories.
        losers: the responses that were not chosen; without any, nothing is preferred.
    """

    item_id: str
    winner: str | None
    losers: tuple[str, ...] = ()

    def margin(self, score: RewardScore) -> float | None:
        """By how much a reward model agrees; None where it scored one of the responses not, or nothing is preferred."""
        return None if self.winner is None else score.margin(self.winner, *self.losers)


def reward_margins(scores: Iterable[RewardScore], preferences: Sequence[Preference]) -> dict[str, Column]:
    """The raw margin of every reward model for every preference, by model in alphabetical order.

    Raises:
        InputError: a model scored an item twice, with different scores.
    """
    found: dict[str, dict[str, RewardScore]] = {}
    for score in scores:
        earlier = found.setdefault(score.model, {}).setdefault(score.item_id, score)
        if dict(earlier.scores) != dict(score.scores):
            raise InputError(
                f"reward model {score.model!r} has two different scores for item {score.item_id!r}: keep one of them"
            )
    columns = {}
    for model in sorted(found):
        margins = [
            None if (given := found[model].get(seen.item_id)) is None else seen.margin(given) for seen in preferences
        ]
        present = np.array([margin is not None for margin in margins], dtype=bool)
        columns[model] = Column(np.array([margin or 0.0 for margin in margins], dtype=np.float64), present)
    return columns


def margin_scales(scores: Iterable[RewardScore]) -> dict[str, float]:
    """Root mean square of each model's margins over the items it scored: its scale, which differs between models.

    The mean is taken as 0, since which response comes first says nothing; of more than two responses each one's margin
    over the best other one counts. A model whose margins are all 0 has scale 1.
    """
    margins: dict[str, dict[str, list[float]]] = {}
    for score in scores:
        names = sorted(score.scores)
        if len(names) > 1:
            found = [score.margin(name, *(one for one in names if one != name)) or 0.0 for name in names]
            margins.setdefault(score.model, {})[score.item_id] = found[: 1 if len(names) == 2 else None]
    scales = {}
    for model, of_items in sorted(margins.items()):
        scale = float(np.sqrt(np.mean(np.square([one for item in sorted(of_items) for one in of_items[item]]))))
        scales[model] = scale if scale > 0 else 1.0
    return scales


def reward_columns(margins: Mapping[str, Column], scales: Mapping[str, float]) -> dict[str, Column]:
    """``rewards.MODEL``: ``tanh(margin / scale)``, and over the models ``rewards.mean`` and ``rewards.votes``.

    The hyperbolic tangent keeps a single huge margin from outweighing everything else. Votes are the mean sign.
    A model without a known scale is left out.
    """
    columns = {
        f"rewards.{model}": Column.where(np.tanh(margin.values / scales[model]), margin.present)
        for model, margin in margins.items()
        if model in scales
    }
    if columns:
        values = np.stack([column.values for column in columns.values()])
        count = np.sum([column.present for column in columns.values()], axis=0)
        columns["rewards.mean"] = _mean(values, count)
        columns["rewards.votes"] = _mean(np.sign(values), count)
    return columns


def _mean(values: Floats, count: Floats) -> Column:
    return Column.where(values.sum(axis=0) / np.maximum(count, 1), count > 0)
