"""What every page has: headers, sessions, form tokens, keys and scopes, files with lasting addresses."""

import importlib
import re

import pytest

from tests.pages.conftest import key, words

pages = importlib.import_module("metajudge.api.pages")
rendering = importlib.import_module("metajudge.api.pages.rendering")
sessions_module = importlib.import_module("metajudge.api.pages.sessions")
KEY = "k" * 32
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
        for path in rendering.TEMPLATES.glob("*.html"):
            text = path.read_text()
            assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|<script(?![^>]*\ssrc=)", text), path.name
            assert "|safe" not in text.replace(" ", ""), path.name


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
        text = (rendering.TEMPLATES.parent / "static" / "htmx.LICENSE.txt").read_text()
        assert re.search(r"htmx \d+\.\d+\.\d+", text)
        assert "Zero-Clause BSD" in text


class TestLogin:
    def test_pages_ask_for_a_key_and_lead_back(self, visit):
        response = visit(api_key=KEY).get("/preferences")
        assert response.status_code == 405
        visitor = visit(api_key=KEY)
        visitor.see("/login?next=/clash%3Fa%3D1")
        response = visitor.submit("/login", {"key": KEY, "next": "/clash?a=1"})
        assert (response.status_code, response.headers["location"]) == (303, "/clash?a=1")

    def test_the_cookie_cannot_be_read_by_scripts_or_sent_by_other_sites(self, visit):
        visitor = visit(api_key=KEY)
        visitor.see("/login")
        cookie = visitor.submit("/login", {"key": KEY}).headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert KEY not in cookie

    def test_a_wrong_key_is_refused_without_a_session(self, visit):
        visitor = visit(api_key=KEY)
        visitor.see("/login")
        response = visitor.submit("/login", {"key": "wrong"})
        assert response.status_code == 401
        assert "not valid" in response.text
        assert visitor.get("/preferences").status_code == 405
        assert visitor.submit("/preferences", {"blind": "true"}).headers["location"].startswith("/login")

    @pytest.mark.parametrize(
        "wanted", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:x", ""]
    )
    def test_nobody_is_sent_to_another_site(self, visit, wanted):
        visitor = visit(api_key=KEY)
        visitor.see("/login", params={"next": wanted})
        response = visitor.submit("/login", {"key": KEY, "next": wanted})
        assert response.headers["location"] == "/reviews"

    def test_logging_out_ends_the_session(self, visit):
        visitor = visit(api_key=KEY)
        visitor.see("/login")
        visitor.submit("/login", {"key": KEY})
        visitor.see("/login")
        assert visitor.submit("/logout").headers["location"] == "/login"
        visitor.see("/login")
        assert visitor.submit("/preferences", {"blind": "true"}).headers["location"].startswith("/login")

    def test_a_copy_of_the_cookie_is_nobodys_after_logging_out(self, visit):
        visitor = visit(api_key=KEY)
        visitor.see("/login")
        visitor.submit("/login", {"key": KEY})
        copy = dict(visitor.cookies)
        assert visitor.see("/jobs")
        visitor.submit("/logout")
        visitor.cookies.clear()
        visitor.cookies.update(copy)
        assert visitor.get("/jobs").headers["location"].startswith("/login")

    def test_keys_cannot_be_tried_without_end_even_if_the_last_one_is_right(self, visit):
        visitor = visit(api_key=KEY)
        visitor.see("/login")
        statuses = [visitor.submit("/login", {"key": f"wrong {number}"}).status_code for number in range(25)]
        assert statuses[:15] == [401] * 15
        assert statuses[-1] == 429
        response = visitor.submit("/login", {"key": KEY})
        assert (response.status_code, int(response.headers["retry-after"]) <= 3) == (429, True)

    def test_a_part_of_a_page_leads_the_whole_page_to_the_login(self, visit):
        visitor = visit(api_key=KEY)
        visitor.see("/login")
        response = visitor.submit("/preferences", {"blind": "true"}, headers={"HX-Request": "true"})
        assert response.status_code == 401
        assert response.headers["hx-redirect"].startswith("/login")

    def test_without_keys_nobody_logs_in(self, visit):
        assert visit().get("/login").headers["location"] == "/reviews"

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "192.168.1.5"])
    def test_without_keys_a_name_that_was_made_to_point_here_is_refused(self, visit, host):
        visitor = visit()
        page = visitor.see("/reviews", 403, headers={"host": host})
        assert "answers on this machine's own names alone" in words(page)
        assert 'name="csrf"' not in page


class TestLinksFromElsewhere:
    def test_a_link_on_another_site_logs_nobody_out(self, visit):
        """Browsers do not send the cookie then; a fresh session in its place would replace the one there is."""
        response = visit(api_key=KEY).get("/reviews", headers=FROM)
        assert (response.status_code, response.headers["refresh"]) == (200, "0")
        assert "set-cookie" not in response.headers
        assert "default-src 'none'" in response.headers["content-security-policy"]

    def test_with_a_cookie_it_is_a_visit_like_any_other(self, visit):
        visitor = visit(api_key=KEY)
        visitor.see("/login")
        assert "refresh" not in visitor.get("/login", headers=FROM).headers


class TestFormTokens:
    @pytest.mark.parametrize("given", [None, "", "wrong", "ü"])
    def test_a_form_of_another_site_changes_nothing(self, visit, given):
        visitor = visit()
        visitor.get("/login")
        response = visitor.post("/preferences", data={"blind": "true"} | ({} if given is None else {"csrf": given}))
        assert response.status_code == 403
        assert "load it again" in words(response.text)

    def test_a_token_of_another_session_is_refused(self, visit):
        first, second = visit(api_key=KEY), visit(api_key=KEY)
        first.see("/login")
        second.see("/login")
        assert second.post("/login", data={"key": KEY, "csrf": first.token}).status_code == 403

    def test_a_browser_that_says_the_form_is_of_another_site_is_believed(self, visit):
        visitor = visit(api_key=KEY)
        visitor.see("/login")
        response = visitor.submit("/login", {"key": KEY}, headers={"sec-fetch-site": "cross-site"})
        assert response.status_code == 403

    def test_scripts_may_send_it_as_a_header(self, visit):
        visitor = visit(api_key=KEY)
        visitor.see("/login")
        response = visitor.post("/login", data={"key": KEY}, headers={"x-csrf-token": visitor.token})
        assert response.status_code == 303


class TestSessions:
    def session(self, **changes):
        return sessions_module.Sessions().new().model_copy(update=changes)

    def test_a_changed_cookie_is_nobody(self):
        sessions = sessions_module.Sessions()
        cookie = sessions.encode(sessions.new())
        assert sessions.decode(cookie) is not None
        payload, _, signature = cookie.rpartition(".")
        other = sessions.encode(self.session(caller="admin")).rpartition(".")[0]
        for bad in (f"{other}.{signature}", f"{payload}.{'0' * 64}", payload, "", ".", "ü.ü"):
            assert sessions.decode(bad) is None

    def test_another_process_has_another_secret(self):
        assert sessions_module.Sessions().decode(sessions_module.Sessions().encode(self.session())) is None

    def test_it_ends(self):
        now = [1000.0]
        sessions = sessions_module.Sessions(clock=lambda: now[0])
        cookie = sessions.encode(sessions.new())
        assert sessions.decode(cookie) is not None
        now[0] += sessions_module.SESSION_S
        assert sessions.decode(cookie) is None

    def test_a_change_of_preferences_does_not_prolong_it(self):
        now = [1000.0]
        sessions = sessions_module.Sessions(clock=lambda: now[0])
        session = sessions.new()
        now[0] += sessions_module.SESSION_S - 1
        cookie = sessions.encode(session.model_copy(update={"blind": True}))
        assert sessions.decode(cookie).blind
        now[0] += 1
        assert sessions.decode(cookie) is None

    def test_what_was_ended_is_remembered_no_longer_than_it_would_have_lasted(self):
        now = [1000.0]
        sessions = sessions_module.Sessions(clock=lambda: now[0])
        first = sessions.new()
        sessions.end(first)
        assert sessions.decode(sessions.encode(first)) is None
        now[0] += sessions_module.SESSION_S
        sessions.end(second := sessions.new())
        assert list(sessions._ended) == [second.nonce]

    def test_a_form_token_is_no_session(self):
        sessions = sessions_module.Sessions()
        session = sessions.new()
        assert sessions.decode(f"{session.nonce}.{sessions.token(session)}") is None


def test_a_key_without_a_scope_is_told_which(visit):
    visitor = visit(keys=(key("looker", "vet"),))
    visitor.see("/login")
    visitor.submit("/login", {"key": ("looker" * 32)[:32]})
    response = visitor.get("/reviews")
    assert response.status_code == 403
    assert "no scope read or review" in words(response.text)


def test_judged_markdown_acts_and_loads_nothing():
    text = importlib.import_module("metajudge.api.pages.judged_text")
    made = text.formatted(
        "# Head\n<script>x()</script> **bold** [a](javascript:x) [b](https://e.example) [c](/reviews) "
        "![p](http://e.example/p.png)\n\n<svg onload=x>\n\n| a |\n|---|\n| <b onclick=x>1</b> |\n"
    )
    assert "<script" not in made
    assert "<svg" not in made
    assert "<img" not in made
    assert "onclick=x&gt;" in made
    assert "<b " not in made
    assert 'href="javascript' not in made
    assert 'href="/reviews"' not in made
    assert "<h1" not in made
    assert "<strong>bold</strong>" in made
    assert 'rel="noopener noreferrer nofollow"' in made
    assert text.judged("<b>") == '<div class="text">&lt;b&gt;</div>'
    assert "(empty)" in text.judged(" ")
    assert "(not there)" in text.judged(None)
