"""Connections to a PostgreSQL database: opened with fixed settings, pooled, readable errors without secrets."""

import logging
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar, cast

import psycopg
from psycopg import errors as sql_errors
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import StrDumper
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from metajudge.errors import StoreError, StoreUnavailableError
from metajudge.store.sql import Connection
from metajudge.types.location import HIDDEN, PostgresUrl

T = TypeVar("T")
PgConnection = psycopg.Connection[tuple[Any, ...]]

SCHEMA: Final = "metajudge"
POOLED: Final = 6
PATIENCE_S: Final = 20.0
"""How long to retry a server that does not answer before an error is raised."""
_CONNECT_S: Final = 10
_RETRY_S: Final = (0.05, 2.0)
_TAKE_S: Final = 2.0
_LAST_S: Final = 0.1
"""How long to wait for a free connection at once, and how long where no patience is left."""
_SETTINGS: Final[dict[str, Any]] = {
    "application_name": "metajudge",
    "connect_timeout": _CONNECT_S,
    # A server or client that vanished is detected within half a minute.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "client_encoding": "utf8",
}
_SERVER_SIDE: Final = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
# PostgreSQL's text cannot contain NUL.
_ESCAPE: Final = "\x1b"

logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # our own errors report it


class _TextDumper(StrDumper):
    """Texts with NUL in them are stored escaped, lone surrogates as ``?``."""

    def dump(self, obj: str) -> bytes:
        if not obj.isascii():
            obj = obj.encode("utf-8", "replace").decode("utf-8")
        if "\x00" in obj or _ESCAPE in obj:
            obj = obj.replace(_ESCAPE, _ESCAPE + "e").replace("\x00", _ESCAPE + "0")
        return obj.encode("utf-8")


class _TextLoader(Loader):
    def load(self, data: Any) -> str:
        text = bytes(data).decode("utf-8")
        if _ESCAPE not in text:
            return text
        return re.sub(_ESCAPE + "([0e])", lambda found: "\x00" if found[1] == "0" else _ESCAPE, text)


class Connections:
    """A pool of connections to one database, and how they fail.

    Args:
        url: the database.
        patience_s: how long to retry while the server cannot be reached.

    Raises:
        StoreError: the URL is not valid, the server refuses the user, or there is no such database.
        StoreUnavailableError: the server cannot be reached.
    """

    def __init__(self, url: PostgresUrl, *, pooled: int = POOLED, patience_s: float = PATIENCE_S) -> None:
        self.url = url
        self.patience_s = patience_s
        self._pooled = pooled
        self._options = _checked(url)
        self.schema = _schema_of(self._options)
        self._secret = self._options.get("password")
        self._pool: ConnectionPool[PgConnection] | None = None
        self._closed = threading.Event()
        self._hurried = threading.Event()

    def connect(self) -> PgConnection:
        """A connection of its own, apart from the pool.

        Raises:
            StoreError: as for the class.
        """
        try:
            connection = psycopg.Connection.connect(
                "", autocommit=True, cursor_factory=psycopg.RawCursor, **self._options
            )
            self._configure(connection)
        except psycopg.Error as error:
            raise self.store_error(error, "open") from None  # libpq's own message may quote the URL
        return connection

    def open_pool(self) -> None:
        """Opens the pool, once :meth:`connect` has succeeded."""
        self._pool = ConnectionPool(
            "",
            kwargs={"autocommit": True, "cursor_factory": psycopg.RawCursor, **self._options},
            min_size=1,
            max_size=self._pooled,
            timeout=min(_TAKE_S, self.patience_s),
            reconnect_timeout=_TAKE_S,  # the next request retries at once instead of after growing pauses
            configure=self._configure,
            name="metajudge",
            open=True,
        )

    @property
    def options(self) -> dict[str, Any]:
        """The connection string, for other clients; it has the password, so it must not be printed."""
        return dict(self._options)

    @property
    def session(self) -> str:
        """The settings of a new connection."""
        return f"SET search_path = {quoted(self.schema)}; {_SERVER_SIDE}"

    def _configure(self, connection: PgConnection) -> None:
        adapt(connection)
        connection.execute(self.session)

    def pauses(self) -> "Pauses":
        """For a caller who asks now, and whose patience counts while others are served first."""
        return Pauses(self.patience_s)

    def read(self, question: Callable[[Connection], T], pauses: "Pauses | None" = None) -> T:
        """Runs a read-only query; retried if the connection breaks.

        Args:
            pauses: since when it has been asked for; None for now.

        Raises:
            StoreUnavailableError: the server did not answer in time, or no connection came free.
            StoreError: the server refuses it, or the store is closed.
        """
        return self._again(question, pauses, "read from", transaction=False, safe=True)

    def change(self, change: Callable[[Connection], T], pauses: "Pauses | None" = None, *, safe: bool = False) -> T:
        """Runs a change in one transaction.

        Args:
            pauses: as for :meth:`read`.
            safe: whether doing it twice is the same as doing it once, so that a commit whose answer was lost can be
                repeated. Before the commit everything is repeated if the connection breaks.

        Raises:
            StoreUnavailableError: as for :meth:`read`; or the connection broke during the commit, so that it is not
                known whether the change was made.
            StoreError: as for :meth:`read`.
        """
        return self._again(change, pauses, "write to", transaction=True, safe=safe)

    def _once(self, question: Callable[[Connection], T], pauses: "Pauses", *, transaction: bool) -> T:
        with self._taken(pauses.left) as connection:
            if not transaction:
                return question(connection)
            committing = False
            try:
                with connection.transaction():
                    result = question(connection)
                    committing = True
            except psycopg.OperationalError as error:
                if committing and lost(error):
                    raise _UnknownOutcomeError(error) from error
                raise
            return result

    @contextmanager
    def _taken(self, most_s: float) -> Iterator[PgConnection]:
        if self._pool is None or self._closed.is_set():
            raise self.closed()
        try:
            connection = self._pool.getconn(timeout=min(_TAKE_S, max(_LAST_S, most_s)))
        except PoolClosed:
            raise self.closed() from None
        try:
            yield connection
        finally:
            self._pool.putconn(connection)

    def _again(
        self, question: Callable[[Connection], T], pauses: "Pauses | None", what: str, *, transaction: bool, safe: bool
    ) -> T:
        pauses = pauses or self.pauses()
        while True:
            try:
                return self._once(question, pauses, transaction=transaction)
            except _UnknownOutcomeError as error:
                if not safe or not pauses.wait(self._hurried):
                    raise self._unknown(error.cause) from error.cause
            except PoolTimeout:
                if not pauses.wait(self._hurried):
                    raise self._none_free() from None
            except psycopg.Error as error:
                if not passing(error) or not pauses.wait(self._hurried):
                    raise self.store_error(error, what) from error

    def _none_free(self) -> StoreUnavailableError:
        """The error if no connection is free: the server cannot be reached, or all connections are busy."""
        try:
            self.connect().close()
        except StoreUnavailableError as error:
            return error
        except StoreError as error:
            return StoreUnavailableError(str(error))
        return StoreUnavailableError(
            f"all {self._pooled} connections to the store {self.url} were busy for {self.patience_s:g} s: try again "
            "later, or send fewer requests at a time"
        )

    def _unknown(self, error: psycopg.Error) -> StoreUnavailableError:
        return StoreUnavailableError(
            f"the connection to the store {self.url} broke while a change was being committed ({self._words(error)}): "
            "it is unknown whether it was made; check before you repeat it"
        )

    def store_error(self, error: psycopg.Error, what: str) -> StoreError:
        """A database error as a store error, without secrets."""
        words = self._words(error)
        if isinstance(error, sql_errors.InvalidPassword | sql_errors.InvalidAuthorizationSpecification) or re.search(
            r"authentication failed|no password supplied|no pg_hba\.conf entry|role .* does not exist", words
        ):
            return StoreError(
                f"the store {self.url} refuses the login: {words}. Check user and password (percent-encode special "
                "characters in the URL), or keep them in a password file (~/.pgpass)"
            )
        if re.search(r"database .* does not exist", words):
            return StoreError(f"the store {self.url}: {words}. Create it first: createdb NAME")
        if re.search(r"too many (clients|connections)|remaining connection slots", words):
            return StoreUnavailableError(
                f"the server of the store {self.url} has no connection left ({words}): raise its max_connections, or "
                f"run fewer processes; each takes up to {self._pooled + 3}"
            )
        if passing(error):
            return StoreUnavailableError(
                f"the store {self.url} cannot be reached: {words}. No acknowledged record is lost; start the "
                "server, or check host and port, then run the same command again to resume"
            )
        if isinstance(error, sql_errors.InsufficientPrivilege):
            return StoreError(
                f"the store {self.url}: {words}. The user needs the right to create the schema {self.schema!r} in this "
                "database, or to own it"
            )
        return StoreError(f"cannot {what} the store {self.url}: {words}")

    def _words(self, error: psycopg.Error) -> str:
        text = " ".join((error.diag.message_primary or str(error) or type(error).__name__).split()).rstrip(" .?")
        return text.replace(self._secret, HIDDEN) if self._secret else text

    def closed(self) -> StoreError:
        return StoreError(f"the store {self.url} is closed; open it again to use it")

    def hurry(self) -> None:
        """Stops retries: the process is about to end, with or without the server."""
        self._hurried.set()

    def close(self) -> None:
        """Closes the pool; a second call does nothing."""
        self._closed.set()
        self.hurry()
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(timeout=2)


class _UnknownOutcomeError(Exception):
    def __init__(self, cause: psycopg.Error) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Pauses:
    """Growing pauses between attempts, up to a time limit."""

    def __init__(self, patience_s: float) -> None:
        self._until = time.monotonic() + patience_s
        self._next, self._longest = _RETRY_S

    @property
    def over(self) -> bool:
        return not self.left

    @property
    def left(self) -> float:
        """Seconds until the time limit, at least 0."""
        return max(0.0, self._until - time.monotonic())

    def wait(self, stop: threading.Event) -> bool:
        """Waits for the next pause; False if no time is left, or ``stop`` was set."""
        pause = min(self._next * (0.5 + random.random()), self.left)
        self._next = min(2 * self._next, self._longest)
        return not self.over and not stop.wait(pause)


def adapt(connection: "psycopg.Connection[Any] | psycopg.AsyncConnection[Any]") -> None:
    """Makes a connection accept any text."""
    connection.adapters.register_dumper(str, _TextDumper)
    for name in ("text", "varchar"):
        connection.adapters.register_loader(name, _TextLoader)


def lost(error: psycopg.Error) -> bool:
    """Whether the connection is lost, or the server is shutting down."""
    state = error.sqlstate or ""
    return isinstance(error, psycopg.OperationalError) and (not state or state[:2] in ("08", "57"))


def passing(error: psycopg.Error) -> bool:
    """Whether a retry may succeed: connection lost, server restarting or full, a deadlock."""
    state = error.sqlstate or ""
    refused = re.search(r"authentication failed|no password supplied|pg_hba|does not exist", str(error))
    return (lost(error) and not refused) or state[:2] in ("40", "53") or state == "25006"


def quoted(name: str) -> str:
    """A name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def _checked(url: PostgresUrl) -> dict[str, Any]:
    invalid = (
        f"the URL of the store {url} is not valid: it is postgresql://USER:PASSWORD@HOST:PORT/DATABASE, special "
        "characters in user and password percent-encoded (@ as %40, / as %2F, # as %23)"
    )
    try:
        options = cast("dict[str, Any]", conninfo_to_dict(url.secret))
    except psycopg.Error:
        raise StoreError(invalid) from None  # libpq's message quotes the URL
    ports = str(options.get("port") or "").split(",")
    if not all(port.isdecimal() and 0 < int(port) < 65536 for port in ports if port):
        raise StoreError(invalid)
    return {**_SETTINGS, **options}


def _schema_of(options: dict[str, Any]) -> str:
    """The schema that the URL's ``options=-csearch_path=NAME`` names, else our own."""
    found = re.search(r"search_path\s*=\s*\"?([^\s,\"]+)", str(options.get("options") or ""))
    return found[1] if found else SCHEMA
