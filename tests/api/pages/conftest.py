"""Pages of a real application: called in process, or on a real socket for a browser."""

import contextlib
import html
import importlib
import re
import shutil
from pathlib import Path

import pytest
import uvicorn
from starlette.testclient import TestClient

from tests.api.nouns import KEY
from tests.api.pages.browser import browse, browser
from tests.api.pages.filled_store import fill
from tests.doubles.quick_server import serving

__all__ = ["browse", "browser"]

app_module = importlib.import_module("metajudge.api.app")
PAGES = Path(importlib.import_module("metajudge.api.pages").__file__).parent
keys_module = importlib.import_module("metajudge.api.keys")


class Visitor(TestClient):
    """Somebody with a browser without scripts: keeps cookies, sends forms with the token of the page last seen."""

    token = ""

    def see(self, path, status=200, **options):
        """Opens a page and returns its text, without the random token, in which any short name may occur."""
        response = self.get(path, **options)
        assert response.status_code == status, response.text[-2000:]
        found = re.search(r'name="csrf" (?:content|value)="([^"]+)"', response.text)
        self.token = found[1] if found else self.token
        return response.text.replace(self.token, "TOKEN") if self.token else response.text

    def submit(self, path, data=None, **options):
        """Sends a form; does not follow where it leads."""
        return self.post(path, data={"csrf": self.token, **(data or {})}, **options)

    def named(self, name="Ada"):
        """Comes to a service without keys and gives a name."""
        self.see("/login", 303)
        self.see("/reviews")
        self.submit("/preferences", {"reviewer": name})
        return self

    def decide(self, review, **sent):
        """Claims a review and decides it; the address that it leads to."""
        self.submit(f"/reviews/{review}/claim")
        response = self.submit(f"/reviews/{review}/decide", sent)
        assert response.status_code == 303, response.text
        return response.headers["location"]

    def log_in_as(self, name):
        """Logs in with the key of that name."""
        return self.log_in((name * 32)[:32])

    def log_in(self, key, name=""):
        self.see("/login")
        response = self.submit("/login", {"key": key, "name": name})
        assert response.status_code == 303, response.text
        self.see(response.headers["location"])
        return self


@pytest.fixture(scope="session")
def routes():
    """One application whose routes are built already, which takes longer than most tests."""
    return app_module.create_app(app_module.ServiceOptions())


@pytest.fixture
def visit(routes):
    """Starts an application in this process and hands out somebody who visits it."""
    with contextlib.ExitStack() as stack:
        started = []

        def start(**options):
            app = app_module.create_app(app_module.ServiceOptions(**options))
            if not started:
                routes.router.lifespan_context, app = app.router.lifespan_context, routes
            started.append(app)
            return stack.enter_context(Visitor(app, base_url="http://127.0.0.1", follow_redirects=False))

        yield start


@pytest.fixture
def at_login(visit):
    """Somebody at the login of a service that has a key."""
    visitor = visit(api_key=KEY)
    visitor.see("/login")
    return visitor


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    """Copies a filled store to a path; returns the ids of its reviews."""
    made = {}

    def copy(path, *what, **options):
        key = (what, tuple(sorted(options.items())))
        if key not in made:
            folder = tmp_path_factory.mktemp("filled")
            made[key] = folder / "s.duckdb", fill(folder / "s.duckdb", *what, **options)
        source, reviews = made[key]
        shutil.copy(source, path)
        return reviews

    return copy


@pytest.fixture
def filled(visit, stored, tmp_path):
    """The same with a filled store and no keys; ``reviews`` are the ids there."""

    def start(count=12, *, hostile=False, cases=True, reviewers=1, name="Ada", **options):
        path = tmp_path / "s.duckdb"
        reviews = stored(path, count, hostile=hostile, cases=cases, reviewers=reviewers)
        visitor = visit(store=path, **options)
        visitor.reviews = reviews
        if name is not None and not options:
            visitor.named(name)
        return visitor

    return start


def key(name, *scopes, text=None):
    """A key of the service; its text is its name 32 times unless given."""
    text = text or (name * 32)[:32]
    return keys_module.ApiKey(name, keys_module.hashed(text), frozenset(keys_module.Scope(one) for one in scopes))


def state_of(visitor, review_id):
    """The review as the HTTP interface tells it."""
    found = visitor.get(f"/v1/reviews/{review_id}")
    assert found.status_code == 200, found.text
    return found.json()["state"]


def words(page):
    """A page's text without its tags."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)))


@contextlib.contextmanager
def running(**options):
    """A service on a real socket; hands out its address."""
    app = app_module.create_app(app_module.ServiceOptions(**options))
    with serving(
        uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="on"))
    ) as url:
        yield url


@pytest.fixture
def serve_pages():
    """Starts services on real sockets; hands out their addresses."""
    with contextlib.ExitStack() as stack:
        yield lambda **options: stack.enter_context(running(**options))
