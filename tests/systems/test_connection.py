"""Requests to a system: the rate, tries again, and keys that appear nowhere."""

import pytest

from metajudge.errors import ConfigurationError
from metajudge.systems.system import TRIES, Connection, SystemCallError
from tests.doubles.verdict_systems import SystemServer

SECRET = "sk-very-secret"


def connected(url, **more):
    waited = []
    headers = {"authorization": f"Bearer {SECRET}"}
    return Connection(url, headers, (SECRET,), wait=waited.append, **{"per_second": 1e9, **more}), waited


def test_what_passes_is_tried_again_after_the_time_the_answer_names():
    with SystemServer((429, {"Retry-After": "3"}, {}), (503, {}, {})) as server:
        connection, waited = connected(server.url)
        assert connection.get("/x", a=1, b=None) == {}
        connection.close()
    assert [request[:3] for request in server.requests] == [("GET", "/x", {"a": ["1"]})] * 3
    assert 3 <= waited[0] < 4
    assert 1 <= waited[1] < 1.5


def test_what_lasts_is_an_error_that_names_place_and_status_and_no_key():
    with SystemServer(*[(500, {}, f"wrong key {SECRET}")] * TRIES) as server:
        connection, waited = connected(server.url)
        with pytest.raises(SystemCallError, match="answered 500 to POST /notes: wrong key") as raised:
            connection.post("/notes", {})
        connection.close()
    assert SECRET not in str(raised.value)
    assert (raised.value.status, len(server.requests), len(waited)) == (500, TRIES, TRIES - 1)


@pytest.mark.parametrize(("status", "said"), [(401, "check the key"), (403, "may not"), (404, "404"), (422, "422")])
def test_what_cannot_pass_is_not_tried_again(status, said):
    with SystemServer((status, {}, "no")) as server:
        connection, _ = connected(server.url)
        with pytest.raises(SystemCallError, match=said) as raised:
            connection.get("/x")
        connection.close()
    assert (raised.value.status, len(server.requests)) == (status, 1)


def test_a_page_in_place_of_json_and_nobody_there_are_said_so():
    with SystemServer((200, {"Content-Type": "text/html"}, "<html>")) as server:
        connection, _ = connected(server.url)
        with pytest.raises(SystemCallError, match="text/html in place of JSON"):
            connection.get("/x")
        connection.close()
    connection, waited = connected(server.url)
    with pytest.raises(SystemCallError, match="cannot be reached"):
        connection.get("/x")
    connection.close()
    assert len(waited) == TRIES - 1


def test_requests_keep_the_rate():
    now = [0.0]

    def wait(seconds):
        now[0] += seconds

    with SystemServer() as server:
        connection = Connection(server.url, {}, per_second=4, wait=wait, clock=lambda: now[0])
        for _ in range(9):
            connection.get("/x")
        connection.close()
    assert now[0] == pytest.approx(2.0)


@pytest.mark.parametrize("address", ["mlflow.example", "ftp://x", "http://"])
def test_an_address_that_is_none_is_an_error(address):
    with pytest.raises(ConfigurationError, match="no address"):
        Connection(address, {})


def test_a_key_in_the_address_is_refused():
    with pytest.raises(ConfigurationError, match="user or a password"):
        Connection("https://anna:secret@mlflow.example", {})
