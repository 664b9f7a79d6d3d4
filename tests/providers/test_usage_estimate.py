"""Estimates err on the high side and learn."""

from metajudge.providers.usage_estimate import UsageEstimate, characters
from metajudge.types import Usage
from tests.doubles.model_requests import ask


def test_the_size_of_a_request_is_its_texts_and_a_flat_share_for_the_schema():
    assert characters(ask("1234", system="123456", schema=None)) == 10
    assert characters(ask("1234", system="123456")) == 1010


def test_output_is_the_limit_that_will_be_sent():
    assert UsageEstimate().of(ask(max_tokens=7)).output_tokens == 7
    assert UsageEstimate(lambda p: 4096).of(ask()).output_tokens == 4096


def test_without_a_limit_output_is_twice_the_largest_seen():
    estimate = UsageEstimate()
    assert estimate.of(ask()).output_tokens == 1024
    estimate.learn(ask(), Usage(10, 0, 0, 3000))
    estimate.learn(ask(), Usage(10, 0, 0, 5))
    assert estimate.of(ask()).output_tokens == 6000


def test_input_follows_the_densest_text_seen_and_never_shrinks():
    estimate, request = UsageEstimate(), ask("x" * 3000, schema=None, system="")
    assert estimate.of(request).input_tokens == 1016
    estimate.learn(request, Usage(6000, 0, 0, 1))
    assert estimate.of(request).input_tokens == 6016
    estimate.learn(request, Usage(10, 0, 0, 1))
    assert estimate.of(request).input_tokens == 6016
