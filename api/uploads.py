"""Uploaded batches of records: validated, written to a file line by line, and read by their job."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from fastapi import HTTPException, Request
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json
from starlette.requests import ClientDisconnect

from metajudge.reading.loose import GivenJudgment, UnclearError
from metajudge.reading.vocabulary import MOST_CHARACTERS, seen
from metajudge.types import Judgment

from .computing import ClientGoneError
from .errors import ProblemError
from .tasks import Record

MOST_PROBLEMS = 20
AT_ONCE = 100
"""Records of a JSON array that are validated before other requests get a turn."""


async def receive_upload(
    request: Request, path: Path, record: type[Record], longest: int, most: int
) -> tuple[int, bytes]:
    """Writes a request's records to a file, one a line: of a JSON array, or JSONL that is written as it arrives.

    Args:
        record: what each of them is.
        longest: most bytes of a line, or of the whole array.
        most: most records.

    Returns:
        The number of records, and the digest of the stored ones.

    Raises:
        HTTPException: 413, too long or too many; 415, wrong content type; 422, no records.
        ProblemError: 422, invalid records.
        ClientGoneError: the caller disconnected.
    """
    noun = record.__name__.lower()
    in_lines = is_in_lines(request, "application/json")
    lines = receive_lines(request.stream(), longest) if in_lines else _array(request, longest, noun)
    read: TypeAdapter[Record] = TypeAdapter(GivenJudgment if record is Judgment else record)
    problems, unclear = list[str](), Unclear()
    items, digest = 0, hashlib.sha256()
    try:
        with path.open("wb") as file:
            async for line in lines:
                try:
                    kept = read.validate_json(line).model_dump_json().encode() + b"\n"
                except ValidationError as error:
                    if not unclear.add(error):
                        problems.append(f"{noun} {items + 1}: {problems_of(error)[0]}")
                    if len(problems) == MOST_PROBLEMS:
                        break
                else:
                    file.write(kept)
                    digest.update(kept)
                items += 1
                if items > most:
                    raise HTTPException(413, f"more than {most} {noun}s: send several batches")
    except ClientDisconnect:
        raise ClientGoneError from None
    if problems := [*unclear.problems(), *problems]:
        raise ProblemError(422, problems[0], problems)
    if not items:
        raise HTTPException(422, f"the upload is empty: send at least one {noun}")
    return items, digest.digest()


class Unclear:
    """Values of an upload that mean nothing: by their field, with how often each occurs."""

    def __init__(self) -> None:
        self._seen: dict[str, Counter[str]] = {}

    def add(self, error: ValidationError) -> bool:
        """Counts the value where that is what is wrong with a record."""
        faults = [one.get("ctx", {}).get("error") for one in error.errors(include_url=False, include_input=False)]
        found = [one for one in faults if isinstance(one, UnclearError)]
        for one in found:
            self._seen.setdefault(one.field, Counter())[one.key[:MOST_CHARACTERS]] += 1
        return bool(found)

    def problems(self) -> list[str]:
        """A line a field: the values seen, and the option that says what they mean."""
        return [
            f"{field} has {seen(counts)}, which mean nothing here: say what they mean in `values` of each record, "
            f"as {{{next(iter(counts))!r}: 'tie'}}"
            for field, counts in self._seen.items()
        ]


def problems_of(error: ValidationError) -> list[str]:
    """The problems of a record, without their values, which may be long or secret."""
    found = error.errors(include_url=False, include_input=False)
    return [
        f"{'.'.join(map(str, one['loc'])) or 'record'}: {one['msg'].removeprefix('Value error, ')}" for one in found
    ]


def is_in_lines(request: Request, default: str = "") -> bool:
    """Whether a body is JSONL, by its content type, and not one JSON document.

    Raises:
        HTTPException: 415, it is neither.
    """
    kind = request.headers.get("content-type", default).partition(";")[0].strip().lower()
    if kind not in ("application/json", "application/x-ndjson", "application/jsonl"):
        raise HTTPException(415, f"send application/json or application/x-ndjson, not {kind[:100]!r}")
    return kind != "application/json"


async def bounded(pieces: AsyncIterator[bytes], most: int, too_long: str) -> AsyncIterator[bytes]:
    """The pieces of a body, of at most so many bytes together.

    Raises:
        HTTPException: 413.
    """
    size = 0
    async for piece in pieces:
        size += len(piece)
        if size > most:
            raise HTTPException(413, too_long)
        yield piece


async def receive_lines(stream: AsyncIterator[bytes], longest: int) -> AsyncIterator[bytes]:
    """The lines of a body as it arrives, without empty ones.

    Raises:
        HTTPException: 413, a line longer than ``longest`` bytes.
    """
    rest = b""
    async for chunk in stream:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield line
        if len(rest) > longest:
            raise HTTPException(413, f"a line is longer than {longest} bytes")
    if rest.strip():
        yield rest


async def _array(request: Request, longest: int, noun: str) -> AsyncIterator[bytes]:
    too_long = f"a JSON array of more than {longest} bytes: send it as JSONL (application/x-ndjson)"
    body = bytearray()
    async for chunk in bounded(request.stream(), longest, too_long):
        body += chunk
    try:
        records = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise HTTPException(422, f"body: not JSON: {error}") from None
    if not isinstance(records, list):
        raise HTTPException(422, f"body: not a list of {noun}s, as a batch is; a single one has its own operation")
    for number, record in enumerate(records):
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
        yield to_json(record)  # numbers of any size, as they came
