"""The owner of a DuckDB file answers other processes of the same user, so that they can read and decide meanwhile.

Only one process can open the file. It listens on a local socket that its note (:mod:`metajudge.store.owner`) names, and
whoever connects proves to know the note's secret. A session is a question (read-only queries on one snapshot) or a
change (a transaction in the owner's writer thread); its queries are those that the other process would run itself. A
peer that is silent for :data:`IDLE_S` is cut off and its change undone.

Messages are JSON, never pickled objects.
"""

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, Protocol, TypeAlias

import duckdb
import orjson

from metajudge.errors import StoreError, StoreMemoryError
from metajudge.store import sql
from metajudge.store.owner import Owner, remove, write

Peer: TypeAlias = "Connection[Any, Any]"

IDLE_S: Final = 10.0
_ROWS: Final = 2_000
_PAUSE_S: Final = 0.1
_LONGEST_ADDRESS: Final = 100
"""Bytes of a path that every system accepts for a socket."""


class Answers(Protocol):
    """What an owner does for others; blocking, called in a thread for each peer."""

    def read(self, session: Callable[[sql.Connection], None]) -> None:
        """Runs a read-only session after everything acknowledged is in the database."""

    def change(self, session: Callable[[sql.Connection], None]) -> None:
        """Runs a session as one transaction."""

    def forget(self, item_id: str) -> int: ...

    def copy_to(self, path: Path) -> None:
        """Copies the database to a new file."""


class EndedError(Exception):
    """A session ended without its change: the peer is gone, silent, gave up, or sent a query that failed."""


class Sharing:
    """Listens beside an open store until it is closed; does nothing where no socket can be made.

    Args:
        store: the file, which this process owns.
    """

    def __init__(self, store: Path, answers: Answers) -> None:
        self._store = store
        self._answers = answers
        self._secret = secrets.token_bytes(32)
        self._peers: set[Peer] = set()
        self._closing = False
        self._guard = threading.Lock()
        self._folder: Path | None = None
        self._listener = self._listening()
        if self._listener is not None:
            threading.Thread(target=self._accept, name="metajudge-store-sharing", daemon=True).start()

    def _listening(self) -> Listener | None:
        listener: Listener | None = None
        try:
            address = self._address()
            listener = Listener(address, backlog=16)
            if address is not None:
                os.chmod(address, 0o600)
            write(self._store, Owner(os.getpid(), str(listener.address), self._secret.hex()))
        except OSError:  # no sockets here: others are told who has the store, as before
            if listener is not None:
                listener.close()
            return None
        return listener

    def _address(self) -> str | None:
        if os.name == "nt":
            return None
        beside = self._store.with_name(self._store.name + ".socket")
        if len(os.fsencode(beside)) > _LONGEST_ADDRESS:
            self._folder = Path(mkdtemp(prefix="metajudge-"))
            return str(self._folder / "socket")
        beside.unlink(missing_ok=True)  # of a killed process: this one owns the file now
        return str(beside)

    def _accept(self) -> None:
        assert self._listener is not None
        while True:
            try:
                peer = self._listener.accept()
            except OSError:
                if self._closing:
                    return
                time.sleep(_PAUSE_S)  # such as too many open files
                continue
            with self._guard:
                if self._closing:
                    peer.close()
                    return
                self._peers.add(peer)
            threading.Thread(target=self._serve, args=[peer], name="metajudge-store-peer", daemon=True).start()

    def _serve(self, peer: Peer) -> None:
        try:
            deliver_challenge(peer, self._secret)
            answer_challenge(peer, self._secret)
            self._answer(peer)
        except Exception:  # whatever a peer does must not end the owner; it is told by the closed connection
            return
        finally:
            with self._guard:
                self._peers.discard(peer)
            peer.close()

    def _answer(self, peer: Peer) -> None:
        """One session."""
        wanted = _received(peer)
        try:
            match wanted["do"]:
                case "read":
                    self._answers.read(lambda connection: _session(peer, connection))
                case "change":
                    self._answers.change(lambda connection: _session(peer, connection))
                case "forget":
                    _send(peer, {"count": self._answers.forget(wanted["item_id"])})
                case "copy":
                    self._answers.copy_to(Path(wanted["path"]))
            _send(peer, {"ended": True})
        except StoreError as error:
            _send(peer, {"error": str(error), "memory": isinstance(error, StoreMemoryError)})

    def close(self) -> None:
        """Stops listening and cuts off whoever is connected."""
        with self._guard:
            if self._closing:
                return
            self._closing = True
            peers = list(self._peers)
        for peer in peers:
            with contextlib.suppress(OSError):
                _shut(peer)
        if self._listener is None:
            return
        with contextlib.suppress(OSError, EOFError):
            Client(self._listener.address).close()  # wakes the thread that accepts
        self._listener.close()
        remove(self._store)
        if self._folder is not None:
            with contextlib.suppress(OSError):
                self._folder.rmdir()


def _shut(peer: Peer) -> None:
    """Wakes the thread that waits for a peer; closing its descriptor would not."""
    if os.name == "nt":
        peer.close()
        return
    copy = socket.socket(fileno=os.dup(peer.fileno()))
    try:
        copy.shutdown(socket.SHUT_RDWR)
    finally:
        copy.close()


def _session(peer: Peer, connection: sql.Connection) -> None:
    """Runs a peer's queries until it is done. Raises EndedError: a change is to be undone."""
    _send(peer, {"begun": True})
    while True:
        message = _received(peer)
        if "query" not in message:
            if message.get("done"):
                return
            raise EndedError
        try:
            _answer_query(peer, connection.execute(message["query"], message["values"]))
        except duckdb.Error as error:
            few = isinstance(error, duckdb.OutOfMemoryException | duckdb.InterruptException)
            said = f"the process that has the store open could not run a query: {error}"
            _send(peer, {"error": said, "memory": few})
            raise EndedError from error


def _answer_query(peer: Peer, result: Any) -> None:
    """Sends rows while they are read, so that not all of them are in memory."""
    columns = [column[0] for column in result.description or ()]
    rows = result.fetchmany(_ROWS)
    while True:
        following = result.fetchmany(_ROWS) if len(rows) == _ROWS else []
        _send(peer, {"columns": columns, "rows": rows, "more": bool(following)})
        if not following:
            return
        rows = following


def _send(peer: Peer, message: dict[str, Any]) -> None:
    try:
        peer.send_bytes(orjson.dumps(message))
    except OSError as error:  # an OSError in a writer thread would end it
        raise EndedError from error


def _received(peer: Peer) -> Any:
    try:
        if not peer.poll(IDLE_S):
            raise EndedError
        return orjson.loads(peer.recv_bytes())
    except (OSError, EOFError) as error:
        raise EndedError from error
