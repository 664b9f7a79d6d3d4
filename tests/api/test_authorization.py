"""One declaration of who may do what, for the HTTP interface and the pages: scopes, owners, labels."""

import importlib
import re

import pytest

from metajudge.store import open_store
from metajudge.store.jobs import StoredJobs
from tests.api.conftest import panel_of
from tests.api.nouns import record
from tests.api.pages.conftest import key, routes, visit
from tests.doubles.llm_server import score_answer

__all__ = ["routes", "visit"]

app_module = importlib.import_module("metajudge.api.app")
authorization = importlib.import_module("metajudge.api.authorization")
keys_module = importlib.import_module("metajudge.api.keys")
pages = importlib.import_module("metajudge.api.pages")
routes_module = importlib.import_module("metajudge.api.routes")

SCOPES = [scope.value for scope in keys_module.Scope]
SECRETS = {scope: (scope * 32)[:32] for scope in SCOPES}
KEYS = tuple(key(scope, scope) for scope in SCOPES)
ROUTERS = (*routes_module.ROUTERS, *(one.router for one in pages.PAGES))


@pytest.fixture
def visitor(visit, tmp_path):
    """A service with one key for each scope."""
    return visit(store=tmp_path / "s.duckdb", keys=KEYS)


def log_in(visitor, scope, next="/reviews"):
    visitor.see("/login")
    return visitor.submit("/login", {"key": SECRETS[scope], "next": next}).headers["location"]


def there_are():
    """Every route of the application, as the declarations name it."""
    return {f"{method} {route.path}" for router in ROUTERS for route in router.routes for method in route.methods}


class TestDeclarations:
    def test_every_route_says_who_may_use_it_and_nothing_else_is_declared(self):
        assert there_are() == set(authorization.ROUTES)
        declared = [route for one in authorization.OPERATIONS for route in one.routes]
        assert len(declared) == len(set(declared)), "a route is declared twice"

    def test_a_route_that_nobody_declared_answers_nobody(self):
        from starlette.testclient import TestClient

        app = app_module.create_app(app_module.ServiceOptions())
        app.add_api_route("/v1/new", lambda: "secret", methods=["GET"])
        app.add_api_route("/new", lambda: "secret", methods=["GET"])
        with TestClient(app, base_url="http://127.0.0.1") as client:
            for path in ("/v1/new", "/new"):
                assert client.get(path).status_code == 403

    def test_whatever_names_a_job_is_for_its_owner(self):
        for one in authorization.OPERATIONS:
            assert one.owned == any("{job_id}" in route for route in one.routes), one

    def test_what_needs_no_key_is_this_alone(self):
        public = {route for one in authorization.OPERATIONS if not one.scopes for route in one.routes}
        assert public == {
            *("GET /login", "POST /login", "POST /logout", "GET /static/{name}", "GET /docs"),
            *("GET /healthz", "GET /readyz", "GET /version", "GET /openapi.json"),
        }


class TestScopes:
    @pytest.mark.parametrize("scope", SCOPES)
    def test_every_page_and_path_opens_to_its_scopes_alone(self, visitor, scope):
        log_in(visitor, scope)
        visitor.see("/")
        for route, one in authorization.ROUTES.items():
            method, path = route.split()
            if not one.scopes or path == "/preferences":
                continue
            path = re.sub(r"\{[^}]*\}", "1", path)
            path += "?follow=false" if path == "/v1/outcomes/events" else ""  # the stream has no end otherwise
            if not route.split()[1].startswith("/v1/") and path != "/metrics":
                answer = visitor.submit(path) if method == "POST" else visitor.get(path)
            else:
                answer = visitor.request(method, path, headers={"x-api-key": SECRETS[scope]})
            refused = answer.status_code == 403
            assert path != "/metrics" or answer.status_code in (200, 403)
            assert refused == (scope not in one.scopes), f"{scope}: {route}: {answer.status_code}"
            assert answer.status_code < 500, route

    @pytest.mark.parametrize("scope", SCOPES)
    @pytest.mark.parametrize("wanted", ["/reviews", "/dashboard", "/jobs", "/v1/audit", "/nowhere", "//evil", "/"])
    def test_after_a_login_one_lands_where_one_may_look(self, visitor, scope, wanted):
        where = log_in(visitor, scope, wanted)
        assert visitor.get(where).status_code == 200

    @pytest.mark.parametrize("scope", SCOPES)
    def test_the_navigation_leads_nowhere_that_is_refused(self, visitor, scope):
        log_in(visitor, scope)
        found = visitor.see("/").partition('aria-label="Pages"')[2].partition("</nav>")[0]
        links = re.findall(r'href="([^"]+)"', found)
        assert links
        assert all(visitor.get(link).status_code == 200 for link in links)


class TestOwners:
    """Two keys with the same scopes, and one that manages."""

    NAMES = ("alice", "bob")

    @pytest.fixture
    def service(self, serve, models, tmp_path):
        server = models(answer=score_answer(5))
        keys = (*(key(name, "vet", "read") for name in self.NAMES), key("boss", "admin"))
        return serve(panels={"default": panel_of(server)}, store=tmp_path / "s.duckdb", keys=keys)

    def ask(self, service, name, method, path, **options):
        headers = {"x-api-key": (name * 32)[:32], **options.pop("headers", {})}
        return service.request(method, path, headers=headers, **options)

    def sent(self, service, name, **options):
        return self.ask(service, name, "POST", "/v1/vet/batch", json=[record()], **options)

    @pytest.mark.parametrize("where", ["", "/results", "/events"])
    def test_another_keys_job_is_not_there(self, service, where):
        job = self.sent(service, "alice").json()["job_id"]
        for name, status in (("alice", 200), ("bob", 404), ("boss", 200)):
            answer = self.ask(service, name, "GET", f"/v1/jobs/{job}{where}")
            assert answer.status_code == status, name
        gone = self.ask(service, "bob", "GET", f"/v1/jobs/{job}{where}").json()
        never = self.ask(service, "bob", "GET", f"/v1/jobs/{'0' * 32}{where}").json()
        assert gone["detail"].replace(job, "") == never["detail"].replace("0" * 32, ""), "it tells that there is a job"

    def test_another_key_neither_cancels_nor_deletes_it(self, service):
        job = self.sent(service, "alice").json()["job_id"]
        assert self.ask(service, "bob", "DELETE", f"/v1/jobs/{job}").status_code == 404
        assert self.ask(service, "alice", "GET", f"/v1/jobs/{job}").status_code == 200
        assert self.ask(service, "boss", "DELETE", f"/v1/jobs/{job}").status_code == 200

    def test_a_list_holds_ones_own_and_pages_through_no_others(self, service):
        jobs = {name: [self.sent(service, name).json()["job_id"] for _ in range(3)] for name in self.NAMES}
        for name in self.NAMES:
            found, before = [], None
            for _ in range(5):
                params = {"limit": 1, **({"before": before} if before else {})}
                page = self.ask(service, name, "GET", "/v1/jobs", params=params).json()
                found += [one["job_id"] for one in page["jobs"]]
                before = page["next_cursor"]
                if before is None:
                    break
            assert found == jobs[name][::-1]
        stranger = self.ask(service, "bob", "GET", "/v1/jobs", params={"before": jobs["alice"][0]})
        assert stranger.status_code == 422
        every = self.ask(service, "boss", "GET", "/v1/jobs").json()["jobs"]
        assert len(every) == 6
        assert {one["owner"] for one in every} == set(self.NAMES)

    async def test_jobs_of_a_service_that_had_no_keys_are_for_admin_alone(self, serve, models, tmp_path):
        panels = {"default": panel_of(models(answer=score_answer(5)))}
        first = serve(panels=panels, store=tmp_path / "s.duckdb")
        job = first.post("/v1/vet/batch", json=[record()]).json()["job_id"]
        store = await open_store(tmp_path / "s.duckdb")
        jobs = StoredJobs(store)
        assert (await jobs.some([job]))[0].owner == "anybody"
        assert [one.job_id for one in await jobs.newest(None, 5, "alice")] == []
        assert [one.job_id for one in await jobs.newest(None, 5, None)] == [job]
        await store.close()
