"""Batches of judgments: received whatever way their bytes are cut, checked, and read again."""

import importlib
import json

import pytest
from fastapi import HTTPException
from starlette.requests import Request

from metajudge.types import Judgment
from tests.doubles.judgments import judgment

uploads = importlib.import_module("metajudge.api.uploads")
admission = importlib.import_module("metajudge.api.computing")
errors = importlib.import_module("metajudge.api.errors")
NDJSON = "application/x-ndjson"


def record(number, item="i1"):
    data = judgment(id=f"j{number}").model_dump(mode="json")
    return {**data, "item": {**data["item"], "id": item}}


def lines(*records):
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


def request(body, kind=NDJSON, piece=7, gone=False):
    """A request whose body comes in small pieces; ``gone``: its caller leaves in the middle."""
    cut = [body[at : at + piece] for at in range(0, len(body), piece)]
    messages = [{"type": "http.request", "body": one, "more_body": True} for one in cut]
    messages.append({"type": "http.disconnect"} if gone else {"type": "http.request", "body": b"", "more_body": False})

    async def receive():
        return messages.pop(0)

    return Request({"type": "http", "headers": [(b"content-type", kind.encode())]}, receive)


async def received(tmp_path, *given, longest=10_000, most=100, **options):
    path = tmp_path / "a.jsonl"
    return path, await uploads.receive_upload(request(*given, **options), path, Judgment, longest, most)


@pytest.mark.parametrize("piece", [1, 100, 10_000])
async def test_an_array_and_its_lines_are_the_same_upload(tmp_path, piece):
    sent = [record(0), record(1)]
    _, from_lines = await received(tmp_path, b"\n" + lines(*sent).rstrip(b"\n"), piece=piece)
    path, from_array = await received(tmp_path, json.dumps(sent).encode(), "application/json", piece=piece)
    assert from_lines == from_array
    assert from_lines[0] == 2
    assert [Judgment.model_validate_json(line) for line in path.read_bytes().splitlines()] == [
        Judgment.model_validate(one) for one in sent
    ]
    _, other = await received(tmp_path, lines(record(1), record(0)))
    assert other[1] != from_lines[1], "the order is part of what was sent"


@pytest.mark.parametrize(
    ("body", "kind", "status", "said"),
    [
        (b"", NDJSON, 422, "send at least one judgment"),
        (b"[]", "application/json", 422, "send at least one judgment"),
        (b"[1", "application/json", 422, "not JSON"),
        (b"{}", "application/json", 422, "not a list of judgments"),
        (b"[" + b" " * 20_000 + b"]", "application/json", 413, "send it as JSONL"),
        (b"x" * 20_000, NDJSON, 413, "a line is longer than"),
        (lines(*map(record, range(101))), NDJSON, 413, "more than 100 judgments"),
        (b"{}", "text/plain", 415, "not 'text/plain'"),
    ],
)
async def test_what_is_refused(tmp_path, body, kind, status, said):
    with pytest.raises(HTTPException) as refused:
        await received(tmp_path, body, kind, piece=5_000)
    assert refused.value.status_code == status
    assert said in refused.value.detail


async def test_bad_lines_are_named_by_number_and_field_at_most_twenty_of_them(tmp_path):
    with pytest.raises(errors.ProblemError) as refused:
        await received(tmp_path, lines(record(0), {"id": "j1"}, record(2), {"id": 3}), piece=1_000)
    assert len({one.partition(":")[0] for one in refused.value.errors}) == 2
    assert [one.partition(":")[0] for one in refused.value.errors] == ["judgment 2", "judgment 4"]
    with pytest.raises(errors.ProblemError) as refused:
        await received(tmp_path, b"{}\n" * 50, piece=1_000)
    assert len(refused.value.errors) == uploads.MOST_PROBLEMS


async def test_a_caller_who_goes_away_is_no_error_of_the_upload(tmp_path):
    with pytest.raises(admission.ClientGoneError):
        await received(tmp_path, lines(record(0)), gone=True)
