"""Self-evaluation: candidates that ranked all answers, their own among them, without knowing which one it was."""

from collections import defaultdict
from collections.abc import Sequence

from metajudge.clashes.record import ClashRecord
from metajudge.stats.paired import mcnemar_exact

from ..figure import Figure, Figures
from .clash_records import counted_attempts


def self_figures(records: Sequence[ClashRecord]) -> Figures:
    """How often a candidate put its own answer first, and how often the panel did; nothing without candidates' votes.

    Args:
        records: earlier attempts are left out by the declared rule.
    """
    chose: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for record, _ in counted_attempts(records):
        for vote in record.votes:
            if vote.own is not None and vote.own_first is not None and record.status == "ok":
                chose[vote.own].append((vote.own_first, record.winner == vote.own))
    if not chose:
        return {}
    everybody = [one for pairs in chose.values() for one in pairs]
    found = {"self.first": _figure(everybody, "every candidate")}
    return found | {f"self.by_model.{model}": _figure(pairs, model) for model, pairs in sorted(chose.items())}


def _figure(pairs: Sequence[tuple[bool, bool]], who: str) -> Figure:
    own, panel = ([one[place] for one in pairs] for place in (0, 1))
    n, test = len(pairs), mcnemar_exact(own, panel)
    value = {
        "first": 100 * sum(own) / n,
        "panel": 100 * sum(panel) / n,
        "difference": 100 * (sum(own) - sum(panel)) / n,
        "p": test.p_value,
    }
    definition = (
        f"decided evaluations in which {who} also ranked the answers, by the label map stored with its vote: percent "
        "it put its own first, percent the panel did, difference in points, exact McNemar p; its vote is in no verdict "
        "unless it was configured as a voter"
    )
    return Figure(value=value, n=n, definition=definition)
