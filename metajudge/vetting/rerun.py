"""An identical run is answered from the stored one: same input, settings, store, and version of counting.

Anything else is computed whole; what was paid for is found by the request's bytes.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from metajudge.evidence.counting import Counted, Counts
from metajudge.installation import __version__
from metajudge.runs.loop import RunEnd
from metajudge.runs.totals import RunTotals
from metajudge.store.answers import RunAnswers
from metajudge.strategies import StrategyName
from metajudge.types import Right, VerdictKind, digest
from metajudge.types.digests import json_bytes
from metajudge.vetting.explanation import Gathered
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.store.store import SqlStore
    from metajudge.vetting.engine import Engine

COUNTING: Final = 1
"""The version of counting and deciding: one more with every change of what is counted, estimated or decided."""


def settings_digest(settings: Mapping[str, Any]) -> str:
    """The digest of settings; a value that names a file or a folder counts by the content of its files."""
    return digest([__version__, COUNTING, {name: _content(value) for name, value in sorted(settings.items())}])


def _content(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_content(one) for one in value]
    if not isinstance(value, str | Path) or not str(value):
        return repr(value)
    path = Path(value)
    try:
        if path.is_dir():
            return [[str(one.relative_to(path)), _content(one)] for one in sorted(path.rglob("*")) if one.is_file()]
        if path.is_file():
            with path.open("rb") as file:
                return [str(value), hashlib.file_digest(file, "sha256").hexdigest()]
    except OSError:
        pass
    return str(value)


@dataclass(frozen=True, slots=True)
class Rerun:
    """Finds and keeps what a run of an open engine comes to.

    Args:
        settings: the digest of its settings and input.
    """

    engine: "Engine"
    store: "SqlStore"
    settings: str

    async def find(self) -> tuple[VetSummary, Counts, list[str]] | None:
        """What the same run came to, and what it told of the input.

        None where there was none, or where the store was changed since.
        """
        body = await RunAnswers(self.store).find(await self._key())
        if body is None:
            return None
        data = TypeAdapter(dict[str, Any]).validate_json(body)
        summary, plain = VetSummary(), data["summary"]
        for one in fields(summary):
            if one.name in plain:
                value = plain[one.name]
                counted = isinstance(getattr(summary, one.name), Counter)
                setattr(summary, one.name, Counter(value) if counted else value)
        summary.gathered = TypeAdapter(Gathered).validate_python(data["gathered"])
        summary.judges_together = _together().validate_python(data["together"])
        asks = self.engine.vetter.default.strategy is not StrategyName.SIGNALS
        summary.reused, summary.results_known = (summary.judgments, 0) if asks else (0, summary.judgments)
        counts = Counts(
            rules=TypeAdapter(dict[VerdictKind, Right]).validate_python(data["rules"]),
            why=Counter(data["why"]),
            wrongly_kept=data["wrongly_kept"],
            note=data["note"],
            known=TypeAdapter(dict[str, Counted]).validate_python(data["rows"]),
        )
        return summary, counts, data["notices"]

    async def keep(self, summary: VetSummary, counts: Counts, notices: Sequence[str]) -> None:
        """Keeps what the run came to, if it ended with all results, nothing failed, and every panel asks or none does.

        Args:
            notices: what is told of the input.
        """
        if len({one.strategy is StrategyName.SIGNALS for one in self.engine.vetter.panels}) > 1:
            return
        found = summary.counts
        if summary.end is not RunEnd.FINISHED or found.failed or found.bad_lines or summary.agent_failures:
            return
        taken = {one.name for one in fields(RunTotals)} | {"gathered", "judges_together", "reviews"}
        data = {
            "summary": {one.name: getattr(summary, one.name) for one in fields(summary) if one.name not in taken},
            "gathered": TypeAdapter(Gathered).dump_python(summary.gathered, mode="json"),
            "together": _together().dump_python(summary.judges_together, mode="json"),
            "notices": list(notices),
            "rules": TypeAdapter(dict[VerdictKind, Right]).dump_python(dict(counts.rules), mode="json"),
            "why": counts.why,
            "wrongly_kept": counts.wrongly_kept,
            "note": counts.note,
            "rows": TypeAdapter(dict[str, Counted]).dump_python(counts.rows(), mode="json"),
        }
        await RunAnswers(self.store).keep(await self._key(), json_bytes(data))

    async def _key(self) -> str:
        """The digest of everything that the results depend on."""
        engine = self.engine
        broken: Iterable[str] = await engine.finishing.broken_promises()
        panels = sorted(one.digest for one in engine.vetter.panels)
        return digest([self.settings, panels, engine.finishing.config(), sorted(broken)])


def _together() -> TypeAdapter[Any]:
    from metajudge.evidence.dependence import JudgesTogether  # needed where free evidence is weighed

    return TypeAdapter(list[JudgesTogether])
