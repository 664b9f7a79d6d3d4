"""What calls of several processes may do together, by a clock of the test's own."""

import json

import pytest

from metajudge.providers.limit_book import Ask, Bucket, LimitBook


def test_calls_of_all_processes_count_together_over_endpoints_and_at_one():
    book = LimitBook()
    here, there = Ask(endpoint="here", in_flight=3, here=2), Ask(endpoint="there", in_flight=3)
    assert [book.enter(name, here, 0.0) for name in "abc"] == [0.0, 0.0, None]
    assert [book.enter(name, there, 0.0) for name in "de"] == [0.0, None]
    book.leave("a", here, 0)
    assert book.enter("e", there, 0.0) == 0.0
    assert book.enter("c", here, 0.0) is None


def test_what_a_dead_process_held_is_free_after_the_lease_and_a_live_one_renews_its_own():
    book, ask = LimitBook(), Ask(endpoint="here", in_flight=2)
    assert [book.enter(name, ask, 0.0, lease_s=10) for name in ("dead", "alive")] == [0.0, 0.0]
    book.renew(["alive"], 8.0, lease_s=10)
    assert book.enter("next", ask, 9.9) is None
    assert book.enter("next", ask, 10.0) == 0.0
    assert book.enter("another", ask, 10.0) is None, "the one that renewed is in flight still"


def test_a_question_asked_twice_takes_one_place_and_one_request():
    book, ask = LimitBook(), Ask(endpoint="here", in_flight=2, requests_per_minute=60)
    assert [book.enter("a", ask, 0.0), book.enter("a", ask, 0.0)] == [0.0, 0.0]
    assert book.enter("b", ask, 0.5) == pytest.approx(0.5)
    assert book.enter("b", ask, 1.0) == 0.0


def test_requests_and_tokens_are_both_waited_for_and_a_call_that_waits_books_nothing():
    book = LimitBook()
    ask = Ask(endpoint="here", in_flight=9, tokens=100, requests_per_minute=600, tokens_per_minute=6000)
    assert book.enter("a", ask, 0.0) == 0.0
    assert book.enter("b", ask, 0.2) == 0.0, "a second's worth of tokens may start at once"
    assert book.enter("c", ask, 0.2) == pytest.approx(0.81)
    assert book.enter("c", ask, 0.2) == pytest.approx(0.81), "asking again costs nothing"
    book.leave("b", ask, -80)
    assert book.enter("c", ask, 0.3) == 0.0


def test_a_call_whose_ticket_expired_corrects_nothing():
    book, ask = LimitBook(), Ask(endpoint="here", in_flight=9, tokens=10, tokens_per_minute=600)
    book.enter("a", ask, 0.0)
    before = book.to_json()["paid"]["here"]["tokens"]
    book.leave("a", ask, 5)
    book.leave("a", ask, 5)
    assert book.to_json()["paid"]["here"]["tokens"] == pytest.approx(before + 0.5)


def test_the_book_is_the_same_after_a_way_through_json():
    book, ask = LimitBook(), Ask(endpoint="here", in_flight=2, requests_per_minute=30)
    book.enter("a", ask, 5.0)
    assert LimitBook.from_json(json.loads(json.dumps(book.to_json()))) == book


@pytest.mark.parametrize("burst_s", [1.0, 60.0])
def test_over_any_stretch_a_bucket_lets_through_its_rate_and_one_burst(burst_s):
    bucket, now, started = Bucket(120, burst_s=burst_s), 0.0, []
    while now < 300:
        wait = bucket.wait(now)
        if wait <= 0:
            bucket = bucket.take(1, now)
            started.append(now)
        else:
            now += wait
    for start in (0, 90, 200):
        within = sum(start <= at < start + 60 for at in started)
        assert within <= 120 + 2 * burst_s + 1
    assert len(started) >= 600 - 1
