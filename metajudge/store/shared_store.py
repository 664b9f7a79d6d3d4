"""A store whose file another process has open: that one runs the queries (see :mod:`metajudge.store.sharing`)."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Client, answer_challenge, deliver_challenge
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, cast
from uuid import uuid4

import orjson

from metajudge.errors import StoreError, StoreLockedError, StoreMemoryError
from metajudge.store.duckdb_dialect import DuckDBDialect
from metajudge.store.outcome_sources import DuckDBSources
from metajudge.store.outcomes import StoredOutcomes
from metajudge.store.owner import Owner, owner_of
from metajudge.store.reviews import StoredReviews
from metajudge.store.sharing import Peer
from metajudge.store.sql import Connection, add_by_lists
from metajudge.store.stored_queries import StoredAuditLog, StoredQueries

if TYPE_CHECKING:
    from metajudge.store.bulk import BulkStore
    from metajudge.store.duckdb_store import DuckDBStore
    from metajudge.store.line_facts import LineFacts
    from metajudge.store.protocol import RunRecord, Store
    from metajudge.types import Assessment, CallRecord, Judgment, Reply

T = TypeVar("T")

PATIENCE_S: Final = 3.0
"""How long an owner that is just starting or ending is waited for."""
_RETRY_S: Final = 0.05


async def open_shared(path: Path) -> "Store":
    """Opens a store to read and to decide, also while another process has its file open.

    Raises:
        StoreLockedError: another process has it open and answers nobody.
        StoreError: no store can be opened there.
    """
    from metajudge.store.duckdb_store import open_store

    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await open_store(path)
        except StoreLockedError as error:
            owner = None if error.pid is None else owner_of(path, error.pid)
            if owner is not None and owner.address is not None:
                return SharedStore(path, owner, error)
            if error.pid is None or time.monotonic() > until:
                raise
        await asyncio.sleep(_RETRY_S)


class _GoneError(Exception):
    """The owner is no longer there; ``committing``: it was asked to commit and did not confirm it."""

    def __init__(self, committing: bool = False) -> None:
        super().__init__()
        self.committing = committing


class _Remote:
    """A connection whose queries the owner runs."""

    in_file = True

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def execute(self, query: str, parameters: Any = None, /) -> "_Rows":
        self.send({"query": query, "values": list(parameters or ())})
        rows: list[tuple[Any, ...]] = []
        while True:
            message = self.receive()
            rows += map(tuple, message["rows"])
            if not message["more"]:
                return _Rows([(name,) for name in message["columns"]], rows)

    def send(self, message: Mapping[str, Any]) -> None:
        try:
            self._peer.send_bytes(orjson.dumps(message))
        except OSError as error:
            raise _GoneError from error

    def receive(self, committing: bool = False) -> Any:
        try:
            message = orjson.loads(self._peer.recv_bytes())
        except (OSError, EOFError) as error:
            raise _GoneError(committing) from error
        if "error" in message:
            raise (StoreMemoryError if message.get("memory") else StoreError)(message["error"])
        return message


class _Rows:
    """A result; see :class:`metajudge.store.sql.Result`."""

    def __init__(self, description: Sequence[Any], rows: list[Any]) -> None:
        self.description: Sequence[Any] | None = description
        self._rows = rows

    def fetchall(self) -> list[Any]:
        return self._rows


class _RemoteDialect(DuckDBDialect):
    """Sends rows as values of the statement: the owner has no arrays of this process."""

    def add_missing(
        self, connection: Connection, table: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]
    ) -> int:
        return add_by_lists(connection, table, types, rows)


class _FreshSources(DuckDBSources):
    """Reads the newest outcomes each time, as the owner adds some too."""

    def newest(self, connection: Connection, subjects: Any) -> list[Any]:
        self.reload()
        return super().newest(connection, subjects)


class SharedStore(StoredQueries):
    """A :class:`~metajudge.store.protocol.Store` for commands that read, review and decide.

    Calls and assessments are kept by the owner alone. Once the owner is gone, the file is opened here.
    """

    def __init__(self, path: Path, owner: Owner, locked: StoreLockedError) -> None:
        self.path = path
        self._owner = owner
        self._locked = locked
        self._own: DuckDBStore | None = None
        self._opening = asyncio.Lock()
        dialect = _RemoteDialect()
        self.reviews = StoredReviews(self._change, self.ask, dialect)
        self.audit_log = StoredAuditLog(self._change, self.ask, dialect)
        self.outcomes = StoredOutcomes(self._change, self.ask, dialect, _FreshSources(), uuid4().hex)

    @property
    def blocks(self) -> "BulkStore":
        raise self._locked

    @property
    def line_facts(self) -> "LineFacts":
        raise self._locked

    async def ask(self, question: Callable[[Connection], T], /) -> T:
        """Runs a read-only query at the owner; see the protocol."""
        return await self._at_owner(lambda: self._session("read", question), lambda own: own.ask(question))

    async def _change(self, change: Callable[[Connection], T], /) -> T:
        return await self._at_owner(lambda: self._session("change", change), lambda own: own.change(change))

    async def _at_owner(
        self, session: Callable[[], T], by_itself: "Callable[[DuckDBStore], Coroutine[Any, Any, T]]"
    ) -> T:
        """Runs a session with the process that has the file open; once there is none, with the file itself."""
        while self._own is None:
            try:
                return await asyncio.to_thread(session)
            except _GoneError as error:
                if error.committing:
                    raise StoreError(
                        f"the process that had the store {self.path} open ended while a change was being committed: "
                        "it is unknown whether it was made; check before you repeat it"
                    ) from error
            await self._find_owner()
        return await by_itself(self._own)

    def _session(self, kind: str, use: Callable[[Connection], T]) -> T:
        with self._connected({"do": kind}) as remote:
            remote.receive()
            try:
                result = use(remote)
            except (_GoneError, StoreError):
                raise
            except BaseException:
                remote.send({"undo": True})
                raise
            remote.send({"done": True})
            remote.receive(committing=kind == "change")
            return result

    @contextmanager
    def _connected(self, wanted: Mapping[str, Any]) -> Iterator[_Remote]:
        secret = bytes.fromhex(self._owner.secret)
        try:
            peer = Client(self._owner.address or "")
        except OSError as error:
            raise _GoneError from error
        with peer:
            try:
                answer_challenge(peer, secret)
                deliver_challenge(peer, secret)
            except (OSError, EOFError) as error:
                raise _GoneError from error
            remote = _Remote(peer)
            remote.send(wanted)
            yield remote

    async def _find_owner(self) -> None:
        """Finds the process that has the file open now, or opens it here."""
        async with self._opening:
            if self._own is not None:
                return
            found = await open_shared(self.path)
            if isinstance(found, SharedStore):
                self._owner = found._owner
            else:
                self._own = cast("DuckDBStore", found)

    async def forget(self, item_id: str) -> int:
        """Has the owner redact an item's texts; see the protocol."""
        wanted = {"do": "forget", "item_id": item_id}
        return await self._at_owner(lambda: self._once(wanted), lambda own: own.forget(item_id))

    async def copy_to(self, path: Path) -> None:
        """Copies the database to a new file, with everything acknowledged so far."""
        wanted = {"do": "copy", "path": str(path.absolute())}

        async def by_itself(own: "DuckDBStore") -> int:
            await own.copy_to(path)
            return 0

        await self._at_owner(lambda: self._once(wanted), by_itself)

    def _once(self, wanted: Mapping[str, Any]) -> int:
        with self._connected(wanted) as remote:
            message = remote.receive()
            count = int(message.get("count", 0))
            if "ended" not in message:
                remote.receive()
            return count

    async def find_reply(self, key: str) -> "Reply | None":
        self._refuse()

    def record_call(self, call: "CallRecord") -> None:
        self._refuse()

    async def save_assessment(
        self,
        key: str,
        judgment: "Judgment",
        assessment: "Assessment",
        run_id: str,
        found: "Assessment | None" = None,
    ) -> None:
        self._refuse()

    async def find_assessments(self, keys: Sequence[str]) -> "dict[str, Assessment]":
        self._refuse()

    async def start_run(self, run: "RunRecord") -> None:
        self._refuse()

    async def finish_run(self, run_id: str, status: str, finished_at: float, summary: Mapping[str, Any]) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        """Models' answers are kept by the owner alone."""
        raise self._locked

    async def close(self) -> None:
        if self._own is not None:
            await self._own.close()
