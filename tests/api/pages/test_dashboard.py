"""The dashboard, called as a browser without scripts would; its figures against the library's own."""

import html
import importlib
import re

import pytest

from metajudge.stats.clustered import clustered_proportion
from tests.api.pages.conftest import words
from tests.api.pages.dashboard_store import fill_dashboard
from tests.reviewables.planted import in_store

standing_module = importlib.import_module("metajudge.api.pages.standing")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("dashboard") / "s.duckdb"
    fill_dashboard(found, 30)
    return found


@pytest.fixture(scope="module")
def kept(path):
    """All assessments with their judgments, read by the library."""

    async def read(store):
        judgments = {one.digest: one for one in await store.judgments()}
        return [(one, judgments[one.judgment_digest]) for _, one in await store.newest_assessments()]

    return in_store(path, read)


@pytest.fixture
def visitor(visit, path, kept):
    return visit(store=path)


def now(page):
    """The figures at the threshold."""
    found = dict(re.findall(r'id="now-(\w+)">([^<]*)<', page))
    return {name: html.unescape(value) for name, value in found.items()}


def test_precision_at_a_threshold_is_counted_one_by_one(visitor, kept):
    for keep in (2.5, 3.5, 4.2, 5):
        figures = now(visitor.see(f"/dashboard?labels=truth&keep={keep}&discard=2"))
        above = [judgment for one, judgment in kept if one.final_score is not None and one.final_score > keep]
        low = [one for one, _ in kept if one.final_score is not None and one.final_score <= 2]
        assert figures["kept"] == str(len(above))
        assert figures["discarded"] == str(len(low))
        assert figures["asked"] == str(len(kept) - len(above) - len(low))
        assert figures["coverage"] == standing_module.tenths(len(above) / len(kept))
        if above:
            found = clustered_proportion([one.correct for one in above], [one.item.opening for one in above])
            assert figures["precision"] == standing_module.tenths(found.estimate)
            ends = f"{standing_module.tenths(found.low)} to {standing_module.tenths(found.high)}"
            assert figures["interval"] == f"{ends}, {len(above)} labelled"
        else:
            assert figures["precision"] == "none"


def test_people_change_what_is_right(visitor):
    people = now(visitor.see("/dashboard?labels=people&keep=0"))
    assert people["interval"].endswith(" 12 labelled")
    assert now(visitor.see("/dashboard?labels=all&keep=0"))["interval"].endswith(" 87 labelled")
    assert "12 human reviews of what a policy found doubtful" in words(visitor.see("/dashboard"))


def test_probabilities_have_thresholds_of_their_own(visitor, kept):
    page = visitor.see("/dashboard?basis=probability&keep=0.7")
    above = [one for one, _ in kept if one.probability is not None and round(one.probability, 9) >= 0.7]
    assert now(page)["kept"] == str(len(above))
    assert "Keep probabilities from" in page


def test_without_labels_nothing_is_said_to_be_precise(visit, tmp_path):
    path = tmp_path / "u.duckdb"
    fill_dashboard(path, 6, labelled=False, decided=0)
    page = visit(store=path).see("/dashboard")
    assert "No labels yet." in page
    assert now(page)["precision"] == "none"
    assert now(page)["kept"] != "0"
    assert "has both a probability (vet with a calibration) and a label" in words(page)
    assert "precision-line" not in page


def test_thresholds_beyond_the_scale_are_drawn_to_its_ends(visitor):
    assert now(visitor.see("/dashboard?keep=-7&discard=99"))["asked"] == "3"
    assert now(visitor.see("/dashboard?keep=999"))["kept"] == "0"
