import hashlib
from pathlib import Path

import orjson
import pytest
from pydantic import ValidationError

from metajudge.errors import ConfigurationError, InputError
from metajudge.reading.reasons import as_judgment
from metajudge.types import Judgment, digest, json_bytes, text_digest, valid_text
from metajudge.types.frozen import DEEPEST, Finite, shallow
from metajudge.types.location import PostgresUrl, store_location
from tests.doubles.judgments import judgment


class Measured(Finite):
    value: float


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_finite_records_hold_finite_numbers(value):
    with pytest.raises(ValidationError, match="finite"):
        Measured(value=value)
    assert Measured(value=1.5).value == 1.5
    with pytest.raises(ValidationError, match="frozen"):
        Measured(value=1.0).value = 2.0


def test_a_copy_with_other_values_has_the_digests_of_what_it_says_and_else_keeps_what_was_computed():
    one = judgment(rationale="Four words stand here.")
    before = one.digest, one.vetting_digest, one.words, one.item.words
    other = one.model_copy(update={"rationale": "Two words."})
    assert other.digest != before[0]
    assert other.digest == judgment(rationale="Two words.").digest
    assert (other.vetting_digest != before[1], other.words) == (True, 2)
    assert (one.digest, one.vetting_digest, one.words, one.item.words) == before
    one = judgment()
    assert one.digest
    assert "digest" in one.model_copy().__dict__


def nested(levels, outer=lambda inner: {"a": inner}):
    data = outer("") if levels else ""
    for _ in range(levels - 1):
        data = outer(data)
    return data


@pytest.mark.parametrize("outer", [lambda inner: {"a": inner}, lambda inner: [1, inner], lambda inner: (inner, 1)])
def test_data_may_be_nested_so_deep_and_no_deeper(outer):
    assert shallow(nested(DEEPEST, outer)) == nested(DEEPEST, outer)
    with pytest.raises(ValueError, match="nested more than 198 levels deep"):
        shallow(nested(DEEPEST + 1, outer))


@pytest.mark.parametrize(("number", "outside"), [(2**64 - 1, 2**64), (-(2**63), -(2**63) - 1)])
def test_whole_numbers_have_64_bits(number, outside):
    assert shallow({"a": [number]}) == {"a": [number]}
    with pytest.raises(ValueError, match="more than 64 bits"):
        shallow({"a": [outside]})


def test_what_is_accepted_is_read_again_and_data_too_deep_or_in_itself_is_an_error_of_the_record():
    one = Judgment.model_validate(judgment().model_dump() | {"meta": nested(DEEPEST)})
    assert Judgment.model_validate_json(one.model_dump_json()) == one
    itself = {}
    itself["a"] = itself
    for meta in (nested(500), itself):
        with pytest.raises(InputError, match="'meta': nested more than 198 levels deep"):
            as_judgment(judgment().model_dump() | {"meta": meta})


# Digests, and JSON that can hold any text a program can.
LONE = "before \ud83d after"


def test_a_digest_is_that_of_the_canonical_json():
    expected = hashlib.sha256(b'{"a":[1,"\xc3\xbc"],"b":null}').hexdigest()[:32]
    assert digest({"b": None, "a": [1, "ü"]}) == expected


@pytest.mark.parametrize("value", [LONE, [LONE], {"a": LONE}, {LONE: 1}, [{"a": (LONE,)}]])
def test_a_lone_surrogate_has_a_digest_and_can_be_sent(value):
    assert len(digest(value)) == 32
    assert b"before \xef\xbf\xbd after" in json_bytes(value)


def test_digests_and_json_of_surrogates_and_of_what_json_cannot_hold():
    assert digest(LONE) == digest("before \ufffd after")
    assert digest(LONE) != digest("before  after")
    assert valid_text("\ud83e\udd89") == "🦉"
    assert valid_text("🦉 ü") == "🦉 ü"
    with pytest.raises(TypeError):
        digest({1, 2})
    with pytest.raises(TypeError):
        json_bytes([LONE, object()])
    value = {"b": [1, 2.5, "x"], "a": None}
    assert json_bytes(value) == orjson.dumps(value)
    assert text_digest("\ud83d") != text_digest("\ud83e")


# Where a store is, and that no password is printed.
@pytest.mark.parametrize("given", ["postgresql://host/db", "postgres://host/db", "POSTGRESQL://host/db"])
def test_a_url_is_a_database_and_a_path_a_file(given):
    found = store_location(given)
    assert isinstance(found, PostgresUrl)
    assert found.secret == given
    assert store_location(found) is found
    assert found.exists()
    for path in ("runs.duckdb", Path("runs.duckdb")):
        assert store_location(path) == Path("runs.duckdb")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://ada:s3cret@host:5432/db", "postgresql://ada:***@host:5432/db"),
        ("postgresql://ada:p@ss@host/db", "postgresql://ada:***@host/db"),
        ("postgresql://ada@host/db", "postgresql://ada@host/db"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql://host/db?user=ada&password=s3cret&x=1", "postgresql://host/db?user=ada&password=***&x=1"),
        ("postgresql://host/db?sslpassword=s3cret", "postgresql://host/db?sslpassword=***"),
    ],
)
def test_a_database_is_printed_without_its_password(given, shown):
    url = PostgresUrl(given)
    assert str(url) == shown
    assert repr(url) == f"PostgresUrl({shown!r})"
    assert "s3cret" not in f"{url} {url!r}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("mysql://host/db", "not a URL with mysql://"),
        ("postgresql:/host/db", "named by its whole URL"),
        (Path("postgresql://host/db"), "named by its whole URL"),
    ],
)
def test_what_is_neither_is_refused(given, message):
    with pytest.raises(ConfigurationError, match=message):
        store_location(given)
