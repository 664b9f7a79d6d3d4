"""How many of the other judges agree with a verdict: the one signal that every kind of verdict has."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from metajudge.types import AnyVerdict, Judgment, Right, is_right
from metajudge.types.grade_scales import GradeScales


@dataclass(slots=True)
class PeerAgreement:
    """Verdicts by item and judge, without texts.

    Judges of one model (``meta["judge_model"]``) are no peers of one another, nor are judges on two scales of grades.
    """

    _verdicts: dict[str, dict[str, Counter[AnyVerdict]]] = field(default_factory=dict)
    _models: dict[str, str] = field(default_factory=dict)
    _scales: GradeScales = field(default_factory=GradeScales)
    _group: dict[str, int] | None = None
    _known: dict[tuple[str, str, AnyVerdict, Right, int], float | None] = field(default_factory=dict)

    def add(self, judgment: Judgment) -> None:
        """Notes one verdict."""
        self._models[judgment.judge] = str(judgment.meta.get("judge_model") or judgment.judge)
        self._scales.add(judgment.judge, judgment.verdict, judgment.item)
        self._group = None
        if judgment.verdict is not None:
            item = self._verdicts.setdefault(judgment.item.id, defaultdict(Counter))
            item[judgment.judge][judgment.verdict] += 1

    def share(self, judgment: Judgment, rule: Right) -> float | None:
        """Mean over the peers of the share of a peer's verdicts on the item that are right by this verdict, in [0, 1].

        None without a verdict, and where no peer gave one that the rule can compare.
        """
        own, model = judgment.verdict, self._models.get(judgment.judge, judgment.judge)
        if own is None:
            return None
        if self._group is None:
            self._group = self._scales.groups()
        key = (judgment.item.id, model, own, rule, self._group.get(judgment.judge, 0))
        if key not in self._known:
            self._known[key] = self._share(*key)
        return self._known[key]

    def _share(self, item: str, model: str, own: AnyVerdict, rule: Right, scale: int) -> float | None:
        votes = []
        for judge, verdicts in self._verdicts.get(item, {}).items():
            if self._models[judge] == model or (self._group or {}).get(judge, 0) != scale:
                continue
            compared = [(is_right(other, own, rule), count) for other, count in verdicts.items()]
            known = [(agrees, count) for agrees, count in compared if agrees is not None]
            if known:
                votes.append(sum(count for agrees, count in known if agrees) / sum(count for _, count in known))
        return sum(sorted(votes)) / len(votes) if votes else None
