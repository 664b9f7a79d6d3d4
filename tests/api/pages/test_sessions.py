"""Sessions of people who have logged in."""

import importlib

sessions_module = importlib.import_module("metajudge.api.sessions")


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

    def test_a_change_of_preferences_does_not_prolong_it(self):
        now = [1000.0]
        sessions = sessions_module.Sessions(clock=lambda: now[0])
        session = sessions.new()
        now[0] += sessions_module.SESSION_S - 1
        cookie = sessions.encode(session.model_copy(update={"blind": True}))
        assert sessions.decode(cookie).blind
        now[0] += 1
        assert sessions.decode(cookie) is None

    def test_a_session_is_another_replica_s_too_if_it_has_the_secret_and_the_keys(self):
        def sessions(secret, *keys):
            return sessions_module.Sessions(sessions_module.signing_key(secret, keys))

        cookie = (one := sessions(b"s", "a", "b")).encode(one.new())
        assert sessions(b"s", "b", "a").decode(cookie) is not None
        assert sessions(b"s", "a").decode(cookie) is None, "a key was withdrawn, and its sessions go on"
        assert sessions(b"t", "a", "b").decode(cookie) is None

    def test_a_form_token_is_no_session(self):
        sessions = sessions_module.Sessions()
        session = sessions.new()
        assert sessions.decode(f"{session.nonce}.{sessions.token(session)}") is None
