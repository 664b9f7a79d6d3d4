"""Reviewing in a real browser: by keyboard alone, blind, under attack, on a phone, in the dark."""

import re

import pytest

from tests.api.pages.browser import DESKTOP, PHONE, check_axe, check_width, needs_browser, screenshot
from tests.api.pages.conftest import key
from tests.api.pages.filled_store import SCRIPT, fill, made_clash

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

    def test_going_through_cases_and_back_up(self, place, browse):
        address, _ = place(8, cases=False)
        page = browse()
        name_yourself(page, address)
        page.keyboard.press("n")
        page.wait_for_selector(READY)
        first = page.url
        page.goto(f"{address}/reviews?status=all")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/reviews/*")
        start = page.url
        page.keyboard.press("j")
        page.wait_for_url(lambda url: url != start)
        page.keyboard.press("k")
        page.wait_for_url(start)
        page.keyboard.press("u")
        page.wait_for_url("**/reviews?status=all")
        assert first

    def test_the_list_of_keys_opens_and_closes(self, place, browse, tmp_path):
        address, reviews = place(1, cases=False)
        page = browse()
        page.goto(f"{address}/reviews/{reviews[0]}")
        page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name="Keys")
        dialog.wait_for()
        check_axe(page)
        screenshot(page, "keys", tmp_path)
        page.keyboard.press("a")  # does nothing while it is open
        page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")

    def test_focus_can_be_seen_wherever_it_goes(self, place, browse):
        address, reviews = place(1, cases=False)
        page = browse()
        name_yourself(page, address)
        page.goto(f"{address}/reviews/{reviews[0]}")
        page.keyboard.press("t")
        page.wait_for_selector(READY)
        for _ in range(25):
            page.keyboard.press("Tab")
            width = page.evaluate(
                """() => { const e = document.activeElement; if (e === document.body) return 2;
                const o = parseFloat(getComputedStyle(e).outlineWidth), l = e.closest('.choice');
                return Math.max(o, l ? parseFloat(getComputedStyle(l).outlineWidth) : 0); }"""
            )
            assert width >= 2, page.evaluate("document.activeElement.outerHTML")


class TestBlindMode:
    def test_hidden_until_decided_then_shown(self, place, browse, tmp_path):
        address, reviews = place(1, cases=False)
        page = browse()
        name_yourself(page, address)
        page.keyboard.press("b")
        page.wait_for_selector("text=Blind mode is on")
        page.keyboard.press("n")
        page.wait_for_selector(READY)
        source = page.content()
        for hidden in ("owl-large", "fox-2", "B&gt;A", "adds hours", "REVIEW"):
            assert hidden not in source, hidden
        check_axe(page)
        screenshot(page, "case-blind", tmp_path)
        page.keyboard.press("4")
        page.wait_for_selector("text=Recorded:")
        decision = state_of(page, address, reviews[0])["decisions"][0]
        assert decision["blind"] is True
        page.get_by_role("link", name=reviews[0]).click()
        page.wait_for_selector("text=owl-large")
        screenshot(page, "case-blind-afterwards", tmp_path)

    def test_two_reviewers_may_see_the_responses_the_other_way_round(self, place, browse):
        address, reviews = place(1, cases=False)
        seen = set()
        for name in ("Ada", "Bob", "Cy", "Di", "Eve", "Fay"):
            page = browse()
            name_yourself(page, address, name)
            page.goto(f"{address}/reviews/{reviews[0]}")
            seen.add(page.locator(".side .quiet").first.inner_text()[0])
        assert seen == {"A", "B"}


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

    def test_an_injected_script_would_be_refused(self, serve_pages, browser):
        """The second line of defence holds by itself: what a template let through would still not run."""
        address = serve_pages(api_key="k" * 32)
        page = browser.new_context().new_page()
        page.goto(f"{address}/login")
        page.evaluate(
            """() => { const s = document.createElement('script'); s.textContent = 'window.attacked = true';
            document.body.append(s); const d = document.createElement('div');
            d.innerHTML = '<img src="/nope" onerror="window.attacked = true">'; document.body.append(d); }"""
        )
        page.wait_for_timeout(300)
        assert page.evaluate("window.attacked") is None
        page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
class TestLooks:
    def look(self, page, name, tmp_path):
        check_axe(page)
        check_width(page)
        scheme = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == (scheme == "dark")
        screenshot(page, f"{name}-{scheme}-{page.viewport_size['width']}", tmp_path)

    def test_review_pages(self, place, browse, tmp_path, scheme, viewport):
        address, reviews = place(6, hostile=True)
        page = browse(scheme=scheme, viewport=viewport)
        page.goto(f"{address}/reviews")
        self.look(page, "queue-unnamed", tmp_path)
        name_yourself(page, address)
        self.look(page, "queue", tmp_path)
        for one in (reviews[0], reviews[1], reviews[-1]):
            page.goto(f"{address}/reviews/{one}")
            self.look(page, f"case-{one}", tmp_path)
        page.keyboard.press("t")
        page.wait_for_selector(READY)
        self.look(page, "case-taken", tmp_path)
        page.keyboard.press("m")
        page.wait_for_selector("[role=alert]")
        self.look(page, "case-refused", tmp_path)
        assert page.goto(f"{address}/reviews/nope").status == 404
        self.look(page, "error", tmp_path)

    def test_empty_pages_and_login(self, place, browse, tmp_path, scheme, viewport):
        address, _ = place(0, cases=False, keys=(key("ada", "read", "review"),))
        page = browse(scheme=scheme, viewport=viewport)
        page.goto(f"{address}/clash")
        self.look(page, "login", tmp_path)
        page.locator("[name=key]").fill("wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=not valid")
        self.look(page, "login-wrong", tmp_path)
        page.locator("[name=key]").fill(("ada" * 32)[:32])
        page.keyboard.press("Enter")
        page.wait_for_selector("text=No clashes yet")
        self.look(page, "clash-empty", tmp_path)
        assert page.goto(f"{address}/reviews").ok
        self.look(page, "queue-empty", tmp_path)
        page.get_by_role("button", name="Log out").click()
        page.wait_for_url("**/login")

    def test_clash_pages(self, place, browse, tmp_path, scheme, viewport):
        address, _ = place(0, cases=False)
        file = tmp_path / "clash.jsonl"
        lines = [made_clash().model_dump_json(), made_clash("q2", hostile=True).model_dump_json()]
        file.write_text("\n".join(lines))
        page = browse(scheme=scheme, viewport=viewport)
        name_yourself(page, address)
        page.goto(f"{address}/clash")
        page.get_by_label("File").set_input_files(file)
        page.get_by_role("button", name="Add").click()
        page.wait_for_selector("[data-row]")
        self.look(page, "clash-list", tmp_path)
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector("button[data-key=t]")
        page.keyboard.press("t")
        page.wait_for_selector(READY)
        assert "owl" not in page.content()
        self.look(page, "clash-blind", tmp_path)
        page.keyboard.press("1")
        page.wait_for_selector("text=Recorded")
        page.goto(f"{address}/clash/people")
        self.look(page, "clash-people", tmp_path)
        assert page.evaluate("window.attacked") is None


def test_filters_change_the_list_in_place_and_the_address(place, browse):
    address, _ = place(6)
    page = browse()
    name_yourself(page, address)
    page.evaluate("window.stayed = true")
    page.get_by_label("Category").fill("climate")
    page.keyboard.press("Enter")
    page.wait_for_selector("#queue li:first-child:last-child")
    assert "category=climate" in page.url
    page.get_by_label("Status").select_option("decided")
    page.wait_for_selector("text=No matching reviews")
    assert page.evaluate("window.stayed") is True


def test_everything_essential_works_without_scripts(place, browse):
    address, reviews = place(2, cases=False)
    page = browse(java_script_enabled=False)
    page.goto(f"{address}/reviews")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Review next").click()
    page.get_by_label("Note").fill("wrong")
    page.get_by_role("button", name="Reject").click()
    page.wait_for_selector("text=Recorded: reject")
    states = [state_of(page, address, one) for one in reviews]
    assert [one["decisions"][0]["reason"] for one in states if one["decisions"]] == ["wrong"]


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


def test_motion_is_left_out_where_it_is_not_wanted(serve_pages, browse):
    address = serve_pages(api_key="k" * 32)
    read = "getComputedStyle(document.querySelector('button.primary')).transitionDuration"
    moving, still = browse(), browse(reduced_motion="reduce")
    for page in (moving, still):
        page.goto(f"{address}/login")
    assert moving.evaluate(read) != "0s"
    assert still.evaluate(read) == "0s"


def test_axe_finds_what_it_should(serve_pages, browse):
    """A check that finds nothing in a broken page would prove nothing."""
    page = browse()
    page.goto(f"{serve_pages(api_key='k' * 32)}/login")
    page.evaluate(
        "document.querySelectorAll('label').forEach(one => one.replaceWith(...one.querySelectorAll('input')))"
    )
    with pytest.raises(AssertionError, match="label"):
        check_axe(page)
    page.evaluate("document.querySelector('h1').style.width = '2000px'")
    with pytest.raises(AssertionError, match="h1"):
        check_width(page)
