"""A blind view shows no identity and no machine result, whichever way it is rendered; a full view shows every field."""

import contextlib
import html
import json

import pytest

from metajudge.reviews.review import Outcome
from tests.api.pages.conftest import Visitor, app_module
from tests.reviewables.planted import MARKERS, READ, in_store, plant, run, say
from tests.stored.commands import run as command

KINDS = ("judgment", "clash", "case")
WAYS = ("page", "terminal", "csv", "jsonl", "http")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A store to copy, and its reviews."""
    path = tmp_path_factory.mktemp("planted") / "s.duckdb"
    return path, run(plant(path))


class Renderer:
    """Every way of rendering the reviews of a store."""

    def __init__(self, path, ids, visitor):
        self.path, self.ids, self.visitor = path, ids, visitor

    def invoke(self, *words):
        done = command("review", *map(str, words), "--store", str(self.path))
        return done.stdout + done.stderr

    def all(self, *, blind):
        """(kind, way) -> all that is said of it there."""
        hidden = ("--blind",) if blind else ()
        found = {}
        listed = self.invoke("list", *hidden)
        files = {}
        for way in ("csv", "jsonl"):
            file = self.path.parent / f"out.{way}"
            self.invoke("export", "--out", file, *hidden)
            files[way] = file.read_text()
        for kind, name in self.ids.items():
            found[kind, "terminal"] = (
                self.invoke("show", name, *hidden) + self.invoke("show", name, "--json", *hidden) + listed
            )
            found[kind, "csv"] = files["csv"]
            found[kind, "jsonl"] = next(line for line in files["jsonl"].splitlines() if name in line)
        with contextlib.ExitStack() as stack:
            self.visitor = stack.enter_context(self.visitor(self.path))
            self.visitor.get("/reviews")
            self.visitor.see("/reviews")
            given = {"blind": "true"} if blind else {}
            for kind, name in self.ids.items():
                one = self.visitor.get(f"/v1/reviews/{name}", params=given)
                found[kind, "http"] = one.text + self.visitor.get("/v1/reviews", params=given).text
            self.visitor.submit("/preferences", {"reviewer": "Ada", "blind": "true" if blind else "false"})
            queue = self.visitor.see("/reviews?status=all")
            for kind, name in self.ids.items():
                found[kind, "page"] = html.unescape(queue + self.visitor.see(f"/reviews/{name}"))
        return found


def visitor(path):
    """Somebody with a browser at a service of its own."""
    app = app_module.create_app(app_module.ServiceOptions(store=path))
    return Visitor(app, base_url="http://127.0.0.1", follow_redirects=False)


@pytest.fixture
def render(planted, tmp_path):
    source, ids = planted
    path = tmp_path / "s.duckdb"
    path.write_bytes(source.read_bytes())
    return Renderer(path, dict(ids), visitor)


@pytest.fixture(scope="module")
def renderings(planted, tmp_path_factory):
    """view -> (kind, way) -> everything that is said."""
    source, ids = planted
    found = {}
    for view in ("blind", "full", "blind by policy"):
        path = tmp_path_factory.mktemp("view") / "s.duckdb"
        if view == "blind by policy":
            ids = run(plant(path, blind=True))
        else:
            path.write_bytes(source.read_bytes())
        if view == "full":
            in_store(path, decided_by_ada(ids))
        found[view] = Renderer(path, dict(ids), visitor).all(blind=view == "blind")
    return found


def decided_by_ada(ids):
    async def main(store):
        for name in ids.values():
            await say(store, name, "Ada", Outcome.CANNOT_TELL)

    return main


SECRETS = {word for one in KINDS for word in MARKERS[one]}


@pytest.mark.parametrize("view", ["blind", "blind by policy"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_blind_view_has_the_texts_and_nothing_else(renderings, kind, way, view):
    text = renderings[view][kind, way]
    assert not [word for word in SECRETS if word.casefold() in text.casefold()]
    assert not [word for word in READ[kind] if word not in text]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_view_has_every_field(renderings, kind, way):
    text = renderings["full"][kind, way]
    assert not [word for word in (*MARKERS[kind], *READ[kind]) if word not in text]


@pytest.mark.slow
class TestThePolicyWantsItBlind:
    @pytest.fixture
    def render(self, render):
        render.path.unlink()
        render.ids.update(run(plant(render.path, blind=True)))
        return render

    def test_it_is_shown_to_a_person_who_has_decided_and_recorded_as_seen(self, render):
        name = render.ids["judgment"]
        render.invoke("claim", name, "--reviewer", "Ada")
        assert "RATIONALE-77" not in render.invoke("show", name, "--reviewer", "Ada")
        told = render.invoke("decide", name, "--reviewer", "Ada", "--verdict", "R1>R2")
        assert "The judge's verdict was cand-Zaphod>cand-Trillian" in told
        assert "RATIONALE-77" in render.invoke("show", name, "--reviewer", "Ada")
        assert "RATIONALE-77" not in render.invoke("show", render.ids["judgment"], "--reviewer", "Eve", "--blind")


@pytest.mark.slow
class TestBlindOrNot:
    def decided(self, render, kind):
        state = json.loads(render.invoke("show", render.ids[kind], "--json"))["sheet"]["record"]
        return next(one for one in state["decisions"] if one["reviewer"] == "Ada")

    @pytest.mark.parametrize("kind", ["judgment", "clash"])
    @pytest.mark.parametrize("looked", [False, True])
    def test_who_has_looked_does_not_decide_blind(self, render, kind, looked):
        name = render.ids[kind]
        render.invoke("claim", name, "--reviewer", "Ada")
        render.invoke("show", name, "--reviewer", "Ada", *(() if looked else ("--blind",)))
        render.invoke("decide", name, "--reviewer", "Ada", "--verdict", "R1>R2")
        assert self.decided(render, kind)["blind"] is not looked
