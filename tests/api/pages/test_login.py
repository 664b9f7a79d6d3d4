"""Logging in with a key."""

import pytest

from tests.api.nouns import KEY


class TestLogin:
    def test_the_cookie_cannot_be_read_by_scripts_or_sent_by_other_sites(self, at_login):
        cookie = at_login.submit("/login", {"key": KEY}).headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert KEY not in cookie

    def test_a_wrong_key_is_refused_without_a_session(self, at_login):
        response = at_login.submit("/login", {"key": "wrong"})
        assert response.status_code == 401
        assert "not valid" in response.text
        assert at_login.get("/preferences").status_code == 405
        assert at_login.submit("/preferences", {"blind": "true"}).headers["location"].startswith("/login")

    @pytest.mark.parametrize(
        "wanted", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:x", ""]
    )
    def test_nobody_is_sent_to_another_site(self, visit, wanted):
        visitor = visit(api_key=KEY)
        visitor.see("/login", params={"next": wanted})
        response = visitor.submit("/login", {"key": KEY, "next": wanted})
        assert response.headers["location"] == "/"

    def test_a_copy_of_the_cookie_is_nobodys_after_logging_out(self, at_login):
        at_login.submit("/login", {"key": KEY})
        copy = dict(at_login.cookies)
        assert at_login.see("/jobs")
        at_login.submit("/logout")
        at_login.cookies.clear()
        at_login.cookies.update(copy)
        assert at_login.get("/jobs").headers["location"].startswith("/login")

    def test_keys_cannot_be_tried_without_end_even_if_the_last_one_is_right(self, at_login):
        statuses = [at_login.submit("/login", {"key": f"wrong {number}"}).status_code for number in range(25)]
        assert statuses[:15] == [401] * 15
        assert statuses[-1] == 429
        response = at_login.submit("/login", {"key": KEY})
        assert (response.status_code, int(response.headers["retry-after"]) <= 60) == (429, True)

    def test_a_part_of_a_page_leads_the_whole_page_to_the_login(self, at_login):
        response = at_login.submit("/preferences", {"blind": "true"}, headers={"HX-Request": "true"})
        assert response.status_code == 401
        assert response.headers["hx-redirect"].startswith("/login")

    def test_without_keys_nobody_logs_in(self, visit):
        assert visit().get("/login").headers["location"] == "/"
