"""Sessions of people who have logged in."""

import importlib

sessions_module = importlib.import_module("metajudge.api.pages.sessions")


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
