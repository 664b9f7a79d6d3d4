"""Every page: headers, forms, files, links from elsewhere, hostile texts."""

import importlib
import re

import pytest

from tests.api.nouns import KEY
from tests.api.pages.conftest import PAGES, words
from tests.api.pages.filled_store import SCRIPT, made_clash
from tests.api.pages.test_clash import add, document

FROM = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}


class TestHeaders:
    def test_a_page_may_run_its_own_files_alone(self, visit):
        response = visit(api_key=KEY).get("/login")
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "same-origin"
        assert response.headers["cache-control"] == "no-store"

    def test_errors_have_them_too(self, visit):
        response = visit(api_key=KEY).post("/logout")
        assert response.status_code == 403
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert response.headers["content-type"].startswith("text/html")

    def test_no_template_has_inline_script_or_style(self):
        for path in (PAGES / "templates").glob("*.html"):
            text = path.read_text()
            assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|<script(?![^>]*\ssrc=)", text), path.name
            assert "|safe" not in text.replace(" ", ""), path.name


class TestLinksFromElsewhere:
    def test_a_link_on_another_site_logs_nobody_out(self, visit):
        """Browsers do not send the cookie then; a fresh session in its place would replace the one there is."""
        response = visit(api_key=KEY).get("/reviews", headers=FROM)
        assert (response.status_code, response.headers["refresh"]) == (200, "0")
        assert "set-cookie" not in response.headers
        assert "default-src 'none'" in response.headers["content-security-policy"]

    def test_with_a_cookie_it_is_a_visit_like_any_other(self, at_login):
        assert "refresh" not in at_login.get("/login", headers=FROM).headers


class TestFormTokens:
    @pytest.mark.parametrize("given", [None, "", "wrong", "ü"])
    def test_a_form_of_another_site_changes_nothing(self, visit, given):
        visitor = visit()
        visitor.get("/login")
        response = visitor.post("/preferences", data={"blind": "true"} | ({} if given is None else {"csrf": given}))
        assert response.status_code == 403
        assert "reload it" in words(response.text)

    def test_a_token_of_another_session_is_refused(self, visit):
        first, second = visit(api_key=KEY), visit(api_key=KEY)
        first.see("/login")
        second.see("/login")
        assert second.post("/login", data={"key": KEY, "csrf": first.token}).status_code == 403

    def test_a_browser_that_says_the_form_is_of_another_site_is_believed(self, at_login):
        response = at_login.submit("/login", {"key": KEY}, headers={"sec-fetch-site": "cross-site"})
        assert response.status_code == 403

    def test_scripts_may_send_it_as_a_header(self, at_login):
        response = at_login.post("/login", data={"key": KEY}, headers={"x-csrf-token": at_login.token})
        assert response.status_code == 303


@pytest.mark.parametrize("path", ["/assessments", "/dashboard", "/reviews", "/runs"])
def test_a_page_that_needs_a_store_is_an_error_for_people_where_there_is_none(visit, path):
    response = visit().get(path)
    assert (response.status_code, "start it with --store" in words(response.text)) == (503, True)


class TestAssets:
    def test_an_address_names_the_content_and_is_kept_forever(self, visit):
        visitor = visit(api_key=KEY)
        addresses = re.findall(r'(?:href|src)="(/static/[^"]+)"', visitor.see("/login"))
        assert len(addresses) >= 4
        for address in addresses:
            response = visitor.get(address)
            assert response.status_code == 200
            assert "immutable" in response.headers["cache-control"]

    def test_a_plain_name_is_asked_for_anew(self, visit):
        response = visit(api_key=KEY).get("/static/style.css")
        assert (response.status_code, response.headers["cache-control"]) == (200, "no-cache")

    @pytest.mark.parametrize("name", ["nope.css", "..%2f__init__.py", "%2e%2e/__init__.py"])
    def test_nothing_but_the_files_there(self, visit, name):
        assert visit(api_key=KEY).get(f"/static/{name}").status_code == 404

    def test_the_vendored_script_names_its_version_and_licence(self):
        text = (PAGES / "static" / "htmx.LICENSE.txt").read_text()
        assert re.search(r"htmx \d+\.\d+\.\d+", text)
        assert "Zero-Clause BSD" in text


authorization = importlib.import_module("metajudge.api.authorization")


def pages_of(visitor):
    """Every page of a service that can be opened, by its address."""
    found, waiting = {}, [route.split()[1] for route in authorization.ROUTES if route.startswith("GET /")]
    waiting = [path for path in waiting if not path.startswith(("/v1", "/static", "/docs")) and "{" not in path]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        answer = visitor.get(path)
        if answer.headers.get("content-type", "").startswith("text/html"):
            found[path] = answer.text
            links = re.findall(r'href="(/(?:assessments/\d+|reviews/\w+|clash/\w+|jobs/\w+|runs/[\w-]+))"', answer.text)
            waiting += links
    return found


def test_scripts_in_judged_texts_names_and_notes_stay_text(filled):
    visitor = filled(4, hostile=True, name=f"Ada {SCRIPT}")
    add(visitor, document(made_clash("q3", hostile=True)))
    for one in visitor.reviews[:2]:
        visitor.see(f"/reviews/{one}")
        visitor.decide(one, outcome="approve", reason=f"note {SCRIPT}")
    found = {}
    for plain in ("true", "false"):
        visitor.see("/reviews")
        visitor.submit("/preferences", {"plain": plain})
        found |= {f"{path} {plain}": text for path, text in pages_of(visitor).items()}
    for path in ("/reviews?judge=", "/assessments?judge=", "/search?q=", "/dashboard?days=0&judge=", "/reviews/"):
        found[path] = visitor.get(f"{path}{SCRIPT.replace('/', '')}").text
    kinds = {path.partition(" ")[0].split("/")[1].partition("?")[0] for path in found}
    assert {"assessments", "reviews", "clash", "runs", "dashboard", "outcomes", "audit-log"} <= kinds
    assert sum("&lt;script&gt;" in text for text in found.values()) > 10
    for path, text in found.items():
        for bad in ("<script>window", "<svg onload", "<style", 'href="javascript', 'src="data:'):
            assert bad not in text, path
        assert not re.search(r"<img(?! src=.?/static)", text), path


def test_forgotten_texts_are_said_to_be_gone_and_reviews_of_them_are_left(filled):
    visitor = filled(2, cases=False)
    review = add(visitor, document(made_clash())).headers["location"]
    store = visitor.app.state.service.engine.store
    for item in ("item-0", "item-1", "q1"):
        visitor.portal.call(store.forget, item)
    for path in ("/assessments/1", f"/reviews/{visitor.reviews[0]}", review):
        said = words(visitor.see(path))
        assert "deleted" in said, path
        assert "A train leaves" not in said
        assert "capital of France" not in said


@pytest.mark.parametrize(
    ("status", "paths"),
    [
        (404, "/assessments/99 /assessments/0 /jobs/nothing /jobs/nothing/results.jsonl /runs/nothing /reviews/nope"),
        (404, "/reviews/<script> /clash/nothing /proposals/nothing /policies/nothing"),
        (
            422,
            "/assessments/x /assessments/-1 /assessments?outcome=x /assessments?since=yesterday /assessments?before=-1",
        ),
        (422, "/dashboard?keep=nan /dashboard?days=3 /dashboard?basis=luck /runs?limit=0 /jobs?before=nothing"),
    ],
)
def test_an_address_that_means_nothing_is_told_for_people(filled, status, paths):
    visitor = filled(1)
    for path in paths.split():
        answer = visitor.get(path)
        assert (answer.status_code, answer.headers["content-type"][:9]) == (status, "text/html"), path
        assert "<svg" not in answer.text
