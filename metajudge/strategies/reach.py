"""Whether a panel's threshold can be met at all, from the scores its members can give.

A final score never falls when a member's score rises, so the highest final score is that of members who all give
their highest one. A threshold below the scale, which every score would meet, is refused when the panel is built.
"""

from itertools import product

from metajudge.scoring import exceeds
from metajudge.strategies.outcome import decide_scores
from metajudge.strategies.panel import Panel, StrategyName
from metajudge.types import Pairwise


def foregone(panel: Panel) -> str | None:
    """A notice where no answers could make the panel accept a judgment; None where some could."""
    best = highest_score(panel)
    if exceeds(best, panel.threshold):
        return None
    route = "" if panel.route is None else f"route {panel.route}: "
    return (
        f"{route}nothing can be kept: the highest score that {panel.strategy} can give here is {best:g}, and only "
        f"scores above the threshold of {panel.threshold:g} are kept; set a threshold below {panel.scale[1]:g}"
    )


def highest_score(panel: Panel) -> float:
    """The highest final score that answers of all members could give."""
    if panel.strategy is StrategyName.SIGNALS:
        return panel.scale[1]  # free evidence fills the scale
    if panel.summariser is not None:
        return float(panel.summariser.rubric.scale.points[-1])
    if panel.strategy is StrategyName.REJUDGE:
        best = [_highest_support(panel)] * len(panel.agents)
    else:
        best = [float(agent.rubric.scale.points[-1]) for agent in panel.agents]
    return float(decide_scores(panel, best).final[0])


def _highest_support(panel: Panel) -> float:
    """The highest score of the pairs of verdicts that an agent can give of the two orders."""
    from metajudge.strategies.rejudge import on_scale

    games = [Pairwise("A", "B", 2), Pairwise("A", "B", 1), Pairwise("A", "B", 0)]
    games += [Pairwise("B", "A", 1), Pairwise("B", "A", 2)]
    return max(on_scale(panel, games[1], pair) for pair in product(games, repeat=2))
