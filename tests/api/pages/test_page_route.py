"""What every page has: headers, form tokens, and what links from elsewhere may do."""

import re

import pytest

from tests.api.nouns import KEY
from tests.api.pages.conftest import PAGES, words

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
