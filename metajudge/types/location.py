"""Where a store is: a file, or a database on a PostgreSQL server."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from metajudge.errors import ConfigurationError, StoreError

SCHEMES = ("postgresql://", "postgres://")
HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class PostgresUrl:
    """A PostgreSQL database, as libpq's URL; printed without its password.

    Attributes:
        secret: the whole URL.
    """

    secret: str = field(repr=False)

    def __str__(self) -> str:
        scheme, _, rest = self.secret.partition("://")
        # Up to the last "@", for a password may contain characters that should be percent-encoded.
        who, at, where = rest.rpartition("@")
        user, colon, _ = who.partition(":")
        shown = f"{scheme}://{user}{colon and ':' + HIDDEN}{at}{where}"
        return re.sub(r"(?i)([?&](?:ssl)?password=)[^&]*", rf"\g<1>{HIDDEN}", shown)

    def __repr__(self) -> str:
        return f"PostgresUrl({str(self)!r})"

    def exists(self) -> bool:
        """True: whether the server has the database is known once it is opened."""
        return True


StoreLocation = Path | PostgresUrl


def store_location(given: "str | Path | PostgresUrl") -> StoreLocation:
    """What a user named as the store.

    Raises:
        ConfigurationError: a URL that is none of PostgreSQL's.
    """
    if isinstance(given, PostgresUrl):
        return given
    text = str(given)
    if text.lower().startswith(SCHEMES):
        return PostgresUrl(text)
    if re.match(r"(?i)postgres(ql)?:", text):
        raise ConfigurationError(
            "a store on PostgreSQL is named by its whole URL, as text and not as a path: "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
        )
    if "://" in text:
        scheme = text.partition("://")[0]
        raise ConfigurationError(
            f"a store is a file or postgresql://USER:PASSWORD@HOST:PORT/DATABASE, not a URL with {scheme}://"
        )
    return Path(text)


def is_old_store(path: Path) -> bool:
    """Whether a file is a store of version 0.2 or earlier, which is a DuckDB database."""
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def copy_first(old: Path) -> StoreError:
    """The error of a command that would use such a file."""
    renamed = old.suffix != ".duckdb"
    new = old.with_name(f"{old.stem}-new{old.suffix}") if renamed else old.with_suffix(".db")
    line = shlex.join(["metajudge", "store", "copy", str(old), str(new), *(["--rename"] if renamed else [])])
    return StoreError(
        f"the store {old} was written by metajudge 0.2 or earlier: copy it once, which changes nothing in it, or name "
        f"another store with --store: {line}"
    )
