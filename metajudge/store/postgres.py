"""A PostgreSQL database, which several processes share: pooled connections, readable errors without secrets."""

import logging
import re
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, TypeVar, cast

import psycopg
from psycopg import errors as sql_errors
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import StrDumper
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from metajudge.errors import StoreError, StoreUnavailableError
from metajudge.store.sql import PATIENCE_S, Connection, Engine, Pauses, Row, quoted, steps_in
from metajudge.types.location import HIDDEN, PostgresUrl

T = TypeVar("T")

SCHEMA: Final = "metajudge"
POOLED: Final = 6
_CONNECT_S: Final = 10
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
_MIGRATING: Final = "SELECT pg_advisory_xact_lock(hashtextextended('metajudge migrations ' || $1, 0))"
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('metajudge ' || $1 || ' ' || current_schema(), 0))"
_NUMBERED_LIKE: Final = {"annotations": ("assessments", "assessment_id")}
_ALIVE: Final = """
    SELECT objid::BIGINT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = $1::OID
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""

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


class PgConnection(psycopg.Connection[tuple[Any, ...]], Connection):
    """A connection to the server. Several processes change rows, so rows are locked.

    Attributes:
        schema: of the store's tables.
    """

    for_update = "FOR UPDATE"
    for_share = "FOR KEY SHARE OF lines"
    skip_locked = "FOR UPDATE OF kept SKIP LOCKED"
    by_bytes = ' COLLATE "C"'
    schema: str

    def reader(self) -> psycopg.ServerCursor[tuple[Any, ...]]:
        return self.cursor(name="rows")

    def take_turns(self, name: str) -> None:
        self.execute(_LOCK, [name])

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Row], ending: str = "") -> int:
        names = ", ".join(columns)
        with self.cursor() as cursor:
            if ending:
                places = ", ".join(f"${place}" for place in range(1, len(columns) + 1))
                cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({places}) {ending}", rows)  # noqa: S608
            else:
                with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                    for row in rows:
                        copy.write_row(row)
            return max(0, int(cursor.rowcount))

    def numbers(self, table: str, column: str, count: int) -> list[int]:
        like = _NUMBERED_LIKE.get(table, (table, column))
        return self.column("SELECT nextval(pg_get_serial_sequence($1, $2)) FROM generate_series(1, $3)", [*like, count])

    def alive(self) -> list[int]:
        return self.column(_ALIVE, [lock_class(self.schema)])

    def notify(self, what: str) -> None:
        self.execute("SELECT pg_notify($1, $2)", [_channel(self.schema), what])


def lock_class(schema: str) -> int:
    """First half of the advisory locks of a schema's writers; the second is the writer's number."""
    return zlib.crc32(f"metajudge writer {schema}".encode()) & 0x7FFFFFFF


def _channel(schema: str) -> str:
    return f"metajudge {schema}"


class PostgresEngine(Engine):
    """The engine of a database on a server: a pool of connections, and how they fail.

    Args:
        url: the database.
        patience_s: how long to retry while the server cannot be reached.

    Raises:
        StoreError: the URL is not valid, the server refuses the user, or there is no such database.
        StoreUnavailableError: the server cannot be reached.
    """

    failures = (psycopg.Error,)

    def __init__(self, url: PostgresUrl, *, pooled: int = POOLED, patience_s: float = PATIENCE_S) -> None:
        self.url = url
        self.name = str(url)
        self.patience_s = patience_s
        self._pooled = pooled
        self._options = _checked(url)
        self.schema = _schema_of(self._options)
        self._secret = self._options.get("password")
        self._pool: ConnectionPool[PgConnection] | None = None
        self._closed = threading.Event()
        self._hurried = threading.Event()

    def connect(self) -> PgConnection:
        try:
            connection = PgConnection.connect("", autocommit=True, cursor_factory=psycopg.RawCursor, **self._options)
            self._configure(connection)
        except psycopg.Error as error:
            raise self.store_error(error, "open") from None  # libpq's own message may quote the URL
        return connection

    def open_pool(self) -> None:
        self._pool = ConnectionPool(
            "",
            kwargs={"autocommit": True, "cursor_factory": psycopg.RawCursor, **self._options},
            min_size=1,
            max_size=self._pooled,
            timeout=min(_TAKE_S, self.patience_s),
            reconnect_timeout=_TAKE_S,  # the next request retries at once instead of after growing pauses
            connection_class=PgConnection,
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
        connection.schema = self.schema
        adapt(connection)
        connection.execute(self.session)

    def migrate(self, connection: PgConnection) -> None:
        steps = steps_in("postgres")
        if self._applied(connection) == steps[-1].version:
            return
        try:
            with connection.transaction():
                connection.execute(_MIGRATING, [self.schema])
                applied = self._applied(connection)
                if 0 < applied < steps[-1].version and (others := len(connection.alive())):
                    raise StoreError(
                        f"the store {self.url} was made by an earlier metajudge, and {others} of its processes have it "
                        "open: stop them, then run this again; jobs in the queue are kept"
                    )
                if applied == 0:
                    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(self.schema)}")
                    connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name VARCHAR)")
                for step in steps:
                    if step.version > applied:
                        connection.execute(step.sql)
                        connection.execute("INSERT INTO migrations VALUES ($1, $2)", [step.version, step.name])
        except psycopg.Error as error:
            raise self.store_error(error, "bring up to date") from error

    def _applied(self, connection: PgConnection) -> int:
        """The newest step the schema has, 0 for one that is not there or empty."""
        tables = set(
            connection.column("SELECT table_name FROM information_schema.tables WHERE table_schema = $1", [self.schema])
        )
        if not tables:
            return 0
        where = f"the schema {self.schema!r} of {self.url}"
        if "migrations" not in tables or "assessments" not in tables:
            raise StoreError(
                f"{where} is not a metajudge store (it has the tables {', '.join(sorted(tables)[:5])}); it was not "
                "changed. Choose another database, or a schema with ?options=-csearch_path%3DNAME in its URL"
            )
        (version,) = connection.row("SELECT coalesce(max(version), 0) FROM migrations")
        newest = steps_in("postgres")[-1].version
        if version > newest:
            raise StoreError(
                f"{where} was written by a newer metajudge (format {version}, this version knows {newest}); upgrade "
                "metajudge, or choose another database with --store"
            )
        return int(version)

    def read(self, question: Callable[[Connection], T], pauses: Pauses | None = None) -> T:
        return self._again(question, pauses, "read from", transaction=False, safe=True)

    def change(self, change: Callable[[Connection], T], pauses: Pauses | None = None, *, safe: bool = False) -> T:
        return self._again(change, pauses, "write to", transaction=True, safe=safe)

    def _once(self, question: Callable[[Connection], T], pauses: Pauses, *, transaction: bool) -> T:
        with self._taken(pauses.left) as connection:
            if not transaction:
                return question(connection)
            committing = False
            try:
                with connection.transaction():
                    result = question(connection)
                    committing = True
            except psycopg.OperationalError as error:
                if committing and _lost(error):
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
        self, question: Callable[[Connection], T], pauses: Pauses | None, what: str, *, transaction: bool, safe: bool
    ) -> T:
        pauses = pauses or Pauses(self.patience_s)
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
                if not _passing(error) or not pauses.wait(self._hurried):
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

    def store_error(self, error: Exception, what: str) -> StoreError:
        if not isinstance(error, psycopg.Error):
            return error if isinstance(error, StoreError) else StoreError(str(error))
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
        if _passing(error):
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

    def lost(self, error: Exception) -> bool:
        return isinstance(error, psycopg.Error) and _lost(error)

    def passing(self, error: Exception) -> bool:
        return isinstance(error, psycopg.Error) and _passing(error)

    def transaction(self, connection: PgConnection) -> AbstractContextManager[Any]:
        return connection.transaction()

    def register(self, connection: PgConnection) -> int:
        (number,) = connection.row("INSERT INTO writers DEFAULT VALUES RETURNING writer_id")
        return int(number)

    def claim(self, connection: PgConnection, writer_id: int) -> bool:
        (held,) = connection.row("SELECT pg_try_advisory_lock($1, $2)", [lock_class(self.schema), writer_id])
        return bool(held)

    async def notifications(self, told: Callable[[str], Awaitable[None]]) -> None:
        connection = await psycopg.AsyncConnection.connect("", autocommit=True, **self._options)
        async with connection:
            await connection.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(_channel(self.schema))))
            async for notification in connection.notifies():
                await told(notification.payload)

    def forgotten(self, tables: Sequence[str]) -> None:
        """Removes old versions of rows by VACUUM: the server reuses their place, and does not overwrite it."""
        self.read(lambda connection: connection.execute(f"VACUUM {', '.join(tables)}"))

    def hurry(self) -> None:
        self._hurried.set()

    def close(self) -> None:
        self._closed.set()
        self.hurry()
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(timeout=2)


class _UnknownOutcomeError(Exception):
    def __init__(self, cause: psycopg.Error) -> None:
        super().__init__(str(cause))
        self.cause = cause


def adapt(connection: "psycopg.Connection[Any] | psycopg.AsyncConnection[Any]") -> None:
    """Makes a connection accept any text."""
    connection.adapters.register_dumper(str, _TextDumper)
    for name in ("text", "varchar"):
        connection.adapters.register_loader(name, _TextLoader)


def _lost(error: psycopg.Error) -> bool:
    """Whether the connection is lost, or the server is shutting down."""
    state = error.sqlstate or ""
    return isinstance(error, psycopg.OperationalError) and (not state or state[:2] in ("08", "57"))


def _passing(error: psycopg.Error) -> bool:
    """Whether a retry may succeed: connection lost, server restarting or full, a deadlock."""
    state = error.sqlstate or ""
    refused = re.search(r"authentication failed|no password supplied|pg_hba|does not exist", str(error))
    return (_lost(error) and not refused) or state[:2] in ("40", "53") or state == "25006"


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
