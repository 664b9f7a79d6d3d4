"""Commands that people are advised to run, quoted for a shell."""

import shlex
from collections.abc import Iterable


def command(*words: str | Iterable[str]) -> str:
    """``metajudge`` with words and groups of words: the paths and options at hand, so that it runs as it is printed.

    Words in capitals (``NAME``, ``PROVIDER:MODEL``) stand for what only the reader knows.
    """
    return shlex.join(["metajudge", *(one for word in words for one in ((word,) if isinstance(word, str) else word))])


def store_words(store: object) -> tuple[str, ...]:
    """``--store FILE`` for further commands; empty where none was given, or for a database.

    A database is set by METAJUDGE_STORE: its URL may contain a password, which must not be printed.
    """
    return () if store is None or "://" in str(store) else ("--store", str(store))
