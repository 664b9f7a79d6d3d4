"""Reviewing in a real browser: by keyboard alone, and under attack."""

import re

import pytest

from tests.api.pages.browser import needs_browser, screenshot
from tests.api.pages.conftest import key
from tests.api.pages.filled_store import SCRIPT, fill

pytestmark = needs_browser
READY = ".pick:not([disabled])"
"""The decision can be made."""


@pytest.fixture
def place(serve_pages, tmp_path):
    """Starts a service on a filled store; hands out its address and the ids of its reviews."""

    def start(count=6, *, keys=(), **options):
        path = tmp_path / "s.duckdb"
        reviews = fill(path, count, **options)
        return serve_pages(store=path, keys=keys), reviews

    return start


def name_yourself(page, address, name="Ada"):
    page.goto(f"{address}/reviews")
    page.get_by_label("Your name").fill(name)
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Review next")


def state_of(page, address, review_id):
    return page.request.get(f"{address}/v1/reviews/{review_id}").json()["state"]


class TestKeyboard:
    def test_from_the_queue_to_decisions_without_a_mouse(self, place, browse, tmp_path):
        address, reviews = place(6, cases=False)
        page = browse()
        name_yourself(page, address)
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        page.wait_for_url("**/reviews/*")
        first = page.url.rpartition("/")[2]
        page.keyboard.press("Enter")  # takes it
        page.wait_for_selector(READY)
        page.keyboard.press("w")
        page.keyboard.type("the arithmetic is right; amc jk")
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")  # decides nothing: no answer is preset
        page.keyboard.press("a")
        page.wait_for_selector("text=Recorded: approve")
        said = state_of(page, address, first)["decisions"]
        assert [(one["outcome"], one["reviewer"], one["reason"]) for one in said] == [
            ("approve", "Ada", "the arithmetic is right; amc jk")
        ]
        second = re.search(r"/reviews/(\w+)", page.url)[1]
        assert second != first
        page.keyboard.press("3")
        page.wait_for_selector("text=Recorded: modify")
        assert state_of(page, address, second)["decisions"][0]["verdict"]
        page.keyboard.press("z")
        page.wait_for_selector("text=Replace your decision")
        page.keyboard.press("r")
        page.wait_for_selector("text=Amended: reject")
        made = state_of(page, address, second)["history"]
        assert [one["outcome"] for one in made] == ["modify", "reject"]
        page.goto(f"{address}/reviews")
        page.keyboard.press("n")
        for letter, outcome in (("r", "reject"), ("c", "cannot tell")):
            page.wait_for_selector(READY)
            page.keyboard.press(letter)
            page.wait_for_selector(f"text=Recorded: {outcome}")
        screenshot(page, "after-the-last-review", tmp_path)
        counts = [state_of(page, address, one)["status"] for one in reviews]
        assert counts.count("decided") == 4


class TestAttacks:
    def test_nothing_in_a_record_runs_or_loads(self, place, browse, tmp_path):
        address, reviews = place(2, hostile=True)
        page = browse()
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        name_yourself(page, address, f"Ada {SCRIPT}")
        for one in reviews:
            page.goto(f"{address}/reviews/{one}")
            assert page.evaluate("window.attacked") is None
        screenshot(page, "case-hostile", tmp_path)
        page.keyboard.press("p")
        page.wait_for_selector("button:has-text('As written')")
        assert page.locator(".prose").count() > 0
        assert page.evaluate("window.attacked") is None
        page.keyboard.press("t")
        page.wait_for_selector(READY)
        page.keyboard.press("w")
        page.keyboard.insert_text(f"note {SCRIPT}")
        page.keyboard.press("Escape")
        page.keyboard.press("a")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Recorded:")
        page.goto(f"{address}/reviews/{reviews[-1]}")
        assert page.evaluate("window.attacked") is None
        assert page.locator("q", has_text="<script>").count() == 1
        assert all(url.startswith(address) for url in asked), asked


def test_a_link_from_another_site_finds_you_still_logged_in(serve_pages, browse, tmp_path):
    address = serve_pages(store=tmp_path / "s.duckdb", keys=(key("ada", "read", "review"),))
    page = browse()
    page.goto(f"{address}/login")
    page.locator("[name=key]").fill(("ada" * 32)[:32])
    page.keyboard.press("Enter")
    page.wait_for_selector("text=No review waits for you")
    page.goto(f"{address.replace('127.0.0.1', 'localhost')}/login")  # another site to a browser
    page.evaluate(f"location.href = '{address}/reviews'")
    page.wait_for_selector("text=No open reviews")
    assert page.url.startswith(f"{address}/reviews")
