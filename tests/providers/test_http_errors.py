"""Error bodies as servers send them, each to its typed error, with a message that says what to do."""

import email.utils
import time

import orjson
import pytest

from metajudge.errors import (
    AuthError,
    BadReplyError,
    BadRequestError,
    ConnectionFailedError,
    ContextTooLongError,
    ModelTimeoutError,
    NotFoundError,
    OverloadedError,
    RateLimitedError,
    RefusedError,
    ServerError,
)
from metajudge.providers.http_errors import Asked, error_from_exception, error_from_response, retry_after
from tests.doubles.model_requests import KEY

ASKED = Asked("gpt-4o-mini", "https://api.openai.com/v1", "OPENAI_API_KEY", KEY)


def openai(message, kind="invalid_request_error", code=None, param=None):
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def anthropic(message, kind="invalid_request_error"):
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


CASES = [
    (401, openai("Incorrect API key provided: sk-pr***6789.", code="invalid_api_key"), AuthError, "OPENAI_API_KEY"),
    (401, anthropic("invalid x-api-key", "authentication_error"), AuthError, "OPENAI_API_KEY"),
    (403, anthropic("not allowed", "permission_error"), AuthError, "what it may use"),
    (404, openai("The model `x` does not exist", code="model_not_found"), NotFoundError, "model's name"),
    (404, {"detail": "Not Found"}, NotFoundError, "base URL"),
    (405, {"detail": "Method Not Allowed"}, NotFoundError, "base URL"),
    (404, {"error": "model 'llama9' not found"}, NotFoundError, "llama9"),
    (301, b"", NotFoundError, "redirects to https://elsewhere"),
    (400, openai("maximum context length is 128000", code="context_length_exceeded"), ContextTooLongError, "larger"),
    (400, anthropic("prompt is too long: 210001 tokens > 200000 maximum"), ContextTooLongError, "210001"),
    (400, {"error": {"message": "the request exceeds the available context size"}}, ContextTooLongError, "Shorten"),
    (413, anthropic("Request exceeds the maximum size", "request_too_large"), ContextTooLongError, "Shorten"),
    (429, openai("Request too large for gpt-4o on tokens per min (TPM)", "tokens"), ContextTooLongError, "Shorten"),
    (400, openai("filtered", code="content_policy_violation"), RefusedError, "filter declined"),
    (400, openai("Invalid value for 'messages'."), BadRequestError, "Invalid value"),
    (422, {"detail": [{"loc": ["body", "n"], "msg": "field required"}]}, BadRequestError, "field required"),
    (429, openai("Rate limit reached", "requests", "rate_limit_exceeded"), RateLimitedError, "Lower the concurrency"),
    (429, anthropic("slow down", "rate_limit_error"), RateLimitedError, "Lower the concurrency"),
    (429, openai("You exceeded your current quota", "insufficient_quota"), RateLimitedError, "add credit"),
    (400, anthropic("Your credit balance is too low to access the Anthropic API."), RateLimitedError, "add credit"),
    (402, {"error": {"message": "Insufficient credits", "code": 402}}, RateLimitedError, "add credit"),
    (408, b"", ModelTimeoutError, "no message"),
    (504, b"<html><h1>Gateway Time-out</h1></html>", ModelTimeoutError, "Gateway Time-out"),
    (503, openai("The engine is currently overloaded", "server_error"), OverloadedError, "overloaded"),
    (529, anthropic("Overloaded", "overloaded_error"), OverloadedError, "Overloaded"),
    (500, anthropic("Internal server error", "api_error"), ServerError, "Internal server error"),
    (502, b"<html><style>b{}</style><body>Bad <b>gateway</b></body></html>", ServerError, "Bad gateway"),
    (500, b"", ServerError, "no message"),
    (500, b"\xff\xfe not text", ServerError, "not text"),
    (500, [{"error": {"message": "a list, as Google sends it"}}], ServerError, "a list"),
    (500, b"null", ServerError, "null"),
]


@pytest.mark.parametrize(("status", "body", "kind", "says"), CASES)
def test_each_error_body_has_its_type_and_says_model_url_and_remedy(status, body, kind, says):
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    error = error_from_response(status, {"location": "https://elsewhere"}, raw, ASKED)
    assert type(error) is kind
    assert says in str(error)
    assert f"HTTP {status} from gpt-4o-mini at https://api.openai.com/v1" in str(error)
    assert ".." not in str(error).replace("...", "")
    assert (error.status, error.sent) == (status, True)


def test_an_empty_account_is_not_asked_again_and_an_echoed_key_is_never_repeated():
    spent = error_from_response(429, {}, orjson.dumps(openai("quota", "insufficient_quota")), ASKED)
    limited = error_from_response(429, {}, orjson.dumps(openai("Rate limit reached")), ASKED)
    assert (spent.retryable, limited.retryable) == (False, True)
    for echoed in (KEY, "sk-proj-****6789", "sk-ant-api03-AbCdEf123456", "gsk_AbCdEf123456"):
        error = error_from_response(401, {}, orjson.dumps(openai(f"Incorrect API key provided: {echoed}.")), ASKED)
        assert echoed not in str(error)
        assert echoed not in repr(error)
    assert KEY not in repr(ASKED)
    odd = Asked("m", "http://x", "V", "plain-secret-word")
    assert "plain-secret-word" not in odd.excerpt("token plain-secret-word rejected")


def test_a_long_body_is_cut_and_the_wait_a_provider_asks_for_is_read_in_each_form():
    text = ASKED.excerpt(("word\n" * 1000).encode())
    assert len(text) == 200
    assert "\n" not in text
    assert retry_after({"retry-after": "7"}) == 7.0
    assert retry_after({"retry-after": "0.25"}) == 0.25
    assert retry_after({"retry-after-ms": "1500", "retry-after": "2"}) == 1.5
    date = email.utils.formatdate(time.time() + 30, usegmt=True)
    assert retry_after({"retry-after": date}) == pytest.approx(30, abs=2)
    past = email.utils.formatdate(time.time() - 30, usegmt=True)
    assert retry_after({"retry-after": past}) == 0.0


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "inf", "", "1e99"])
def test_a_wait_that_makes_no_sense_is_none(value):
    assert retry_after({"retry-after": value}) is None
    assert retry_after({"retry-after-ms": value}) is None


def test_what_is_no_matter_of_the_network_stays_and_a_broken_connection_is_no_late_answer():
    assert error_from_exception(KeyError("defect"), ASKED, 1.0) is None
    cut = error_from_exception(ConnectionResetError("reset by peer"), ASKED, 1.0)
    late = error_from_exception(TimeoutError(), ASKED, 1.5)
    assert isinstance(cut, ConnectionFailedError)
    assert cut.sent
    assert isinstance(late, ModelTimeoutError)
    assert "within 1.5 s" in str(late)
    assert isinstance(error_from_response(200, {}, b'{"error": "x"}', ASKED), BadReplyError)
