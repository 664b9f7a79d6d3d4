"""From files of results to one answer a request; pure."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

import orjson

from metajudge.providers.batch_protocol import BatchAnswer, Ending

ReadLine = Callable[[Mapping[str, object]], tuple[str, BatchAnswer] | None]


@dataclass(slots=True)
class BatchResults:
    """The answers of one batch, and what is odd about its files.

    Attributes:
        answers: custom id -> answer, for every request of the batch.
        cut: whether a file ends in the middle of a line.
        unreadable: lines that are no results (among them one cut in the middle).
        unknown: answers to requests that the batch did not contain.
        repeated: requests with several answers; where these differ, none of them is taken.
    """

    answers: dict[str, BatchAnswer] = field(default_factory=dict)
    cut: bool = False
    unreadable: int = 0
    unknown: int = 0
    repeated: int = 0

    @property
    def missing(self) -> int:
        """Requests without a usable line."""
        return sum(one.ending is Ending.MISSING for one in self.answers.values())

    def oddities(self) -> str:
        """Warnings about the files; empty if none."""
        found = [
            (self.missing, "requests without an answer"),
            (self.unreadable, "unreadable lines"),
            (self.unknown, "answers to unknown requests"),
            (self.repeated, "requests answered more than once"),
        ]
        return ", ".join(f"{count} {what}" for count, what in found if count)


def read_results(
    files: Iterable[bytes], ids: Collection[str], read: ReadLine, unanswered: Ending = Ending.MISSING
) -> BatchResults:
    """Reads results by custom id, never by their order.

    Args:
        files: JSON lines as fetched; the order of files and lines means nothing.
        ids: the requests of the batch.
        read: reads one line, see :meth:`~metajudge.providers.batch_protocol.BatchService.read`.
        unanswered: how requests ended that no line mentions.
    """
    results, wanted, seen = BatchResults(), frozenset(ids), set[str]()
    for content in files:
        for line in content.split(b"\n"):
            if not line.strip():
                continue
            found = _read(line, read)
            if found is None:
                results.unreadable += 1
                continue
            name, answer = found
            if name not in wanted:
                results.unknown += 1
                continue
            earlier = results.answers.setdefault(name, answer)
            if earlier is answer:
                continue
            if name not in seen:
                seen.add(name)
                results.repeated += 1
            if earlier != answer:  # which one was meant cannot be known
                results.answers[name] = BatchAnswer(None, ending=Ending.CONTRADICTORY)
        results.cut = results.cut or (bool(content) and not content.endswith(b"\n") and not _whole(content))
    for name in ids:
        results.answers.setdefault(name, BatchAnswer(None, ending=unanswered))
    return results


def _read(line: bytes, read: ReadLine) -> tuple[str, BatchAnswer] | None:
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return read(data) if isinstance(data, dict) else None


def _whole(content: bytes) -> bool:
    """Whether the last line, which lacks its line break, is complete all the same."""
    try:
        orjson.loads(content.rsplit(b"\n", 1)[-1])
    except orjson.JSONDecodeError:
        return False
    return True
