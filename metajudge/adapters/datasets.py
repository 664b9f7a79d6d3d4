"""Functions for ``map`` and ``filter`` of Hugging Face datasets (and so for TRL): vet the verdicts in a dataset's rows.

::

    from metajudge.adapters.datasets import kept, vetted

    rows = dataset.map(vetted(MAPPING, agents=["openai:gpt-4o-mini"]), batched=True, batch_size=None)
    rows = rows.filter(kept())

A row is a judgment, by a mapping of the columns as for :func:`metajudge.from_dataset`. Nothing of the ``datasets``
package is needed here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from metajudge.blocking import vet
from metajudge.reading.frames import Mapped, read_rows
from metajudge.types import Assessment, Judgment

COLUMNS: Final = ("score", "probability", "decision", "reason")
"""What is added to a row, each after the prefix."""
PREFIX: Final = "metajudge_"

Batch = Mapping[str, Sequence[Any]]


class vetted:  # noqa: N801 - called like a function; as a class it can be pickled, for num_proc and fingerprints
    """Makes a function for ``dataset.map(..., batched=True)`` that adds what is decided about each row's verdict.

    Added are ``metajudge_score`` (the final score, 1 to 5), ``metajudge_probability`` (that the verdict is right, in
    [0, 1], by a calibration), ``metajudge_decision`` (``keep``, ``ask`` or ``discard``) and ``metajudge_reason``. What
    is absent is null, never 0; a row that cannot be read has no decision, and the reason says why.

    The evidence of other judges, and of the other order, is that of one batch: ``batch_size=None`` makes the whole
    dataset one.

    Args:
        mapping: which column is what; None where the columns are named after the fields.
        agents: meta-judges, as for :func:`metajudge.vet`; none weighs free evidence alone.
        judge: who judged all rows, where no column says so.
        values: what values of the verdict mean, such as ``{1: "A"}``.
        prefix: of the columns that are added.
        options: further ones of :func:`metajudge.vet`, such as ``calibration="calibration.json"``.

    Raises:
        InputError: in ``map``: a column that is not there, or verdicts that mean nothing.
    """

    def __init__(
        self,
        mapping: Mapped = None,
        *,
        agents: Sequence[Any] = (),
        judge: str | None = None,
        values: Mapping[Any, Any] | None = None,
        prefix: str = PREFIX,
        **options: Any,
    ) -> None:
        self._mapping = mapping
        self._agents = tuple(agents)
        self._judge = judge
        self._values = dict(values or {})
        self._prefix = prefix
        self._options = options

    def __call__(self, batch: Batch) -> dict[str, list[Any]]:
        """The new columns of a batch, as ``map`` hands it over: column -> cells."""
        rows = [dict(zip(batch, cells, strict=True)) for cells in zip(*batch.values(), strict=True)]
        found = read_rows(rows, self._mapping, judge=self._judge, values=self._values) if rows else []
        readable = {one.id: one for one in found if isinstance(one, Judgment)}
        assessed = vet(list(readable.values()), self._agents, **self._options) if readable else []
        by_id = {one.judgment_id: one for one in assessed}
        told = [_said(one if isinstance(one, str) else by_id[one.id]) for one in found]
        return {f"{self._prefix}{name}": [one[name] for one in told] for name in COLUMNS}


def kept(at_least: float | None = None, *, prefix: str = PREFIX) -> Callable[[Mapping[str, Any]], bool]:
    """Makes a function for ``dataset.filter`` that leaves the rows whose verdict is kept.

    Args:
        at_least: the lowest probability, in place of the decision; a row without one is left out.
        prefix: as for :class:`vetted`.
    """

    def keeps(row: Mapping[str, Any]) -> bool:
        if at_least is None:
            return bool(row[f"{prefix}decision"] == "keep")
        probability = row[f"{prefix}probability"]
        return probability is not None and bool(probability >= at_least)

    return keeps


def _said(found: Assessment | str) -> dict[str, Any]:
    if isinstance(found, str):
        return {**dict.fromkeys(COLUMNS), "reason": f"not read: {found}"}
    return {
        "score": found.final_score,
        "probability": found.probability,
        "decision": found.do.action,
        "reason": found.do.reason,
    }
