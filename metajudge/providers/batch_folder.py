"""What is known of batches under way, on disk: written before a batch is submitted, kept until its answers are safe.

One JSON file a batch records its requests (by their keys; no prompt is kept), its progress, and what
its provider calls it. Fetched results lie beside it until the caller has stored them.
"""

import json
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from metajudge.errors import ConfigurationError
from metajudge.files.replacing import replacing

_FORMAT = 1
_KEPT_S = 31 * 86400.0
"""Providers keep results for about a month; older records are useless."""
_LABEL = re.compile(r"[0-9a-f]{12}")


class BatchState(StrEnum):
    """How far a batch has come: about to be submitted, submitted, results fetched."""

    BEGUN = "begun"
    SUBMITTED = "submitted"
    FETCHED = "fetched"


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One batch.

    Attributes:
        label: ours; part of every custom id.
        keys: of the requests, in the order sent.
        fresh: whether they were asked although answers to the same requests were stored.
        batch_id: the provider's id, once it is known.
        begun_at: seconds since the epoch.
        unanswered: how requests ended that the results do not mention.
    """

    label: str
    endpoint: str
    model: str
    keys: tuple[str, ...]
    fresh: bool
    begun_at: float
    state: BatchState = BatchState.BEGUN
    batch_id: str | None = None
    files: int = 0
    unanswered: str = "missing"

    def custom_id(self, key: str) -> str:
        """The id under which the answer to a request comes back: letters, digits and _, 45 characters."""
        return f"{self.label}_{key}"


class BatchFolder:
    """The records of one folder; one process at a time uses it.

    Raises:
        ConfigurationError: the folder cannot be used, or another process uses it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = _locked(path)
        self.records: dict[str, BatchRecord] = {}
        self._by_key: dict[str, list[str]] = {}
        self._delivered: dict[str, set[str]] = {}
        try:
            for file in sorted(path.glob("*.json")):
                record = self._load(file)
                if record is not None:
                    self._index(record)
        except ConfigurationError:
            self.close()
            raise

    def find(self, key: str, fresh: bool) -> BatchRecord | None:
        """The batch that contains a request whose answer was not handed over yet."""
        for label in self._by_key.get(key, ()):
            record = self.records.get(label)
            if record is not None and record.fresh == fresh and key not in self._delivered.get(label, ()):
                return record
        return None

    def begin(self, endpoint: str, model: str, keys: Sequence[str], fresh: bool) -> BatchRecord:
        """Notes that a batch is about to be submitted."""
        record = BatchRecord(secrets.token_hex(6), endpoint, model, tuple(keys), fresh, time.time())
        self._write(record)
        self._index(record)
        return record

    def fetched(self, record: BatchRecord, files: Sequence[bytes], unanswered: str) -> BatchRecord:
        """Keeps the results."""
        for number, content in enumerate(files):
            _write_file(self._results(record, number), content)
        return self.change(record, state=BatchState.FETCHED, files=len(files), unanswered=unanswered)

    def results(self, record: BatchRecord) -> list[bytes]:
        """The results as fetched."""
        try:
            return [self._results(record, number).read_bytes() for number in range(record.files)]
        except OSError as error:
            raise ConfigurationError(f"{error.filename}: cannot be read: {error.strerror}") from None

    def delivered(self, record: BatchRecord, key: str) -> None:
        """Notes that an answer was handed over; once stored, it is found there and not asked for here."""
        self._delivered.setdefault(record.label, set()).add(key)

    def all_delivered(self, record: BatchRecord) -> bool:
        """Whether every answer of a batch was handed over."""
        return self._delivered.get(record.label, set()).issuperset(record.keys)

    def drop(self, record: BatchRecord) -> None:
        """Forgets a batch: it never was submitted, was refused, or all of it is safe."""
        self.records.pop(record.label, None)
        self._file(record.label).unlink(missing_ok=True)
        for number in range(record.files):
            self._results(record, number).unlink(missing_ok=True)

    def settle(self) -> None:
        """Forgets the batches of which every answer was handed over; call it when those are stored."""
        for record in [self.records[label] for label in self._delivered if label in self.records]:
            if self.all_delivered(record):
                self.drop(record)
        self._delivered.clear()

    def close(self) -> None:
        """Lets another process use the folder."""
        self._lock.close()

    def _index(self, record: BatchRecord) -> None:
        self.records[record.label] = record
        for key in record.keys:
            self._by_key.setdefault(key, []).append(record.label)

    def change(self, record: BatchRecord, **changes: Any) -> BatchRecord:
        """Notes how far a batch has come: what the provider calls it, or that it turned out to be another run's."""
        changed = replace(record, **changes)
        self._write(changed)
        self.records[record.label] = changed
        return changed

    def _load(self, file: Path) -> BatchRecord | None:
        try:
            data = json.loads(file.read_bytes())
            if data.pop("format") != _FORMAT or not _LABEL.fullmatch(data["label"]):
                raise ValueError("another format")
            record = BatchRecord(**{**data, "keys": tuple(data["keys"]), "state": BatchState(data["state"])})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(
                f"{file}: no record of a batch: {error}. Move it away to continue without it; its requests are then "
                "asked again"
            ) from None
        if time.time() - record.begun_at > _KEPT_S:
            self.drop(record)
            return None
        return record

    def _write(self, record: BatchRecord) -> None:
        _write_file(self._file(record.label), json.dumps({"format": _FORMAT, **asdict(record)}).encode())

    def _file(self, label: str) -> Path:
        return self.path / f"{label}.json"

    def _results(self, record: BatchRecord, number: int) -> Path:
        return self.path / f"{record.label}.results-{number}.jsonl"


def _write_file(path: Path, content: bytes) -> None:
    """Writes all or nothing, readable for the owner alone: results contain models' replies."""
    try:
        with replacing(path, private=True, durable=True) as part:
            part.write_bytes(content)
    except OSError as error:
        raise ConfigurationError(
            f"{path}: cannot be written: {error.strerror}. An unrecorded batch could be paid "
            "for twice: free disk space or fix the folder's permissions, then run the same command again"
        ) from None


def _locked(path: Path) -> IO[bytes]:
    try:
        path.mkdir(parents=True, exist_ok=True)
        file = (path / "lock").open("ab")
    except OSError as error:
        raise ConfigurationError(f"{path}: no folder for batches under way: {error.strerror}") from None
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise ConfigurationError(f"{path}: another process is waiting for these batches: let it end first") from None
    return file
