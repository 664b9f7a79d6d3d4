"""Rows are history: what is saved again, and what is listed and counted, on both databases alike."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import pytest

from metajudge.errors import FailureKind
from metajudge.store import browsing, dashboard, open_store
from metajudge.store.browsing import AssessmentFilter, newest_fitting, page_of_assessments
from metajudge.types import Assessment, Failure, Item, Judgment, Label, SignalValue, Status, TokenUsage
from metajudge.types.assessment import GuaranteedThreshold
from tests.api.pages.filled_store import ACTIONS, made_agent, made_assessment, made_judgment

WHEN = datetime(2026, 11, 22, tzinfo=UTC)


def graded(name: str, **beside) -> Judgment:
    item = Item.model_validate(
        {"id": "q1", "question": "Is it good?", "responses": {"A": "Yes."}, "scale": (1, 5), **beside}
    )
    return Judgment.model_validate({"id": name, "item": item, "judge": "owl", "verdict": 4})


@pytest.fixture
def two() -> tuple[Judgment, Judgment]:
    return (
        graded("one", labels=(Label(value=3.0, annotator="ann", time=WHEN), Label(value=4.0))),
        graded(
            "two",
            labels=(Label(value=1.0, annotator="ben"),),
            conversation=({"role": "user", "content": "Is it good?"},),
            metadata={"A": {"tokens": 2}},
        ),
    )


async def test_records_of_one_item_keep_each_its_own_labels(store, records, two) -> None:
    plain = graded("three")
    assert len({one.item.digest for one in (*two, plain)}) == 1
    for number, one in enumerate((*two, plain)):
        said = records.assessment(one, panel_digest="p")
        await store.save_assessment(str(number), one, said, "run-1")
    assert await store.judgments() == [*two, plain]
    for one in (*two, plain):
        assert await store.find_judgment(one.digest) == one
    shown = (await store.show("q1"))["judgments"]
    assert [Judgment.model_validate(row["judgment"]) for row in shown] == [*two, plain]


JUDGMENT = made_judgment(1)
RESULT = made_assessment(JUDGMENT, 1, decision=None, probability=None, calibrated=False)
TIMEOUT = Failure(kind=FailureKind.TIMEOUT, message="no reply within 60.1 s")
FAILED = RESULT.model_copy(
    update={"status": Status.UNSCORED, "final_score": None, "accepted": None, "failure": TIMEOUT}
)


def by(policy, result=RESULT):
    decision = made_assessment(JUDGMENT, 1).decision.model_copy(update={"policy": policy})
    return result.model_copy(update={"decision": decision})


def calibrated(name, probability, result=RESULT):
    return result.model_copy(update={"calibration": name, "probability": probability, "calibrated": True})


async def save(store, *assessments, run="run-1"):
    """One after the other, under the key of the result."""
    for one in assessments:
        await store.save_assessment("key", JUDGMENT, one, run)


async def kept(store):
    """(the newest row, how many older ones)"""
    found = await store.show(JUDGMENT.id)
    (newest,) = await store.newest_assessments()
    assert found["assessments_total"] == 1
    return newest[1], found["history_total"]


AGAIN = FAILED.model_copy(update={"failure": TIMEOUT.model_copy(update={"message": "no reply within 59.8 s"})})
REFUSED = FAILED.model_copy(update={"failure": Failure(kind=FailureKind.REFUSED, message="no")})
ONE, TWO = calibrated("one", 0.8), calibrated("two", 0.4)
STANDS = {
    "a policy that is used again": ([RESULT, by("x"), by("y"), by("x")], by("x"), 3),
    "a calibration that is used again": ([RESULT, ONE, TWO, ONE], ONE, 3),
    "vetting without a policy takes no decision back": ([RESULT, by("x"), RESULT], by("x"), 1),
    "a decision does not stand once the result is another": ([FAILED, by("x", FAILED), RESULT], RESULT, 2),
    "a failure that fails in the same way leaves one row": ([FAILED, AGAIN, FAILED, AGAIN, FAILED], FAILED, 0),
    "a retry with another outcome is history": ([FAILED, REFUSED, FAILED, RESULT], RESULT, 3),
}


class TestWhatCounts:
    @pytest.mark.parametrize("case", STANDS)
    async def test_the_last_word_stands_and_is_shown(self, store, case) -> None:
        said, stands, older = STANDS[case]
        await save(store, *said)
        assert await kept(store) == (stands, older)
        (line,) = (await store.ask(partial(page_of_assessments, wanted=AssessmentFilter(), limit=5))).lines
        assert line.action == (None if stands.decision is None else stands.decision.action)

    async def test_other_evidence_is_another_result_also_when_it_comes_back(self, store) -> None:
        signals = {"peers": SignalValue(value=1.0, state="agree")}
        other = RESULT.model_copy(update={"signals": signals})
        await store.save_assessment("one", JUDGMENT, RESULT, "r")
        await store.save_assessment("two", JUDGMENT, other, "r")
        await store.save_assessment("one", JUDGMENT, RESULT, "r")
        assert await kept(store) == (RESULT, 2)


class TestNothingNew:
    async def test_the_same_after_reopening_leaves_one_row(self, store, reopen) -> None:
        await save(store, FAILED, by("x", FAILED))
        again = await reopen(store)
        await save(again, FAILED, by("x", FAILED))
        assert await kept(again) == (by("x", FAILED), 1)
        assert await again.find_assessments(["key"]) == {"key": FAILED}

    async def test_the_first_under_a_key_is_kept_whatever_it_says(self, store, reopen) -> None:
        await store.save_assessment("one", JUDGMENT, RESULT, "r")
        await store.close()
        again = await reopen()  # which keys there are is not known yet
        await again.save_assessment("two", JUDGMENT, RESULT, "r")
        assert set(await again.find_assessments(["one", "two"])) == {"one", "two"}

    async def test_many_at_once_leave_a_result_and_a_decision(self, store) -> None:
        await asyncio.gather(*(save(store, RESULT, by("x")) for _ in range(20)))
        assert await kept(store) == (by("x"), 1)
        assert (await store.show(JUDGMENT.id))["history"][0]["payload"].get("decision") is None

    async def test_replicas_that_save_the_same_at_once_leave_one_row_and_one_annotation(self, postgres_url) -> None:
        replicas = [await open_store(postgres_url) for _ in range(3)]
        for turn in range(10):  # judgments that are new: the race is for the first row
            judgment = made_judgment(turn)
            said = made_assessment(judgment, turn)  # with a probability and a decision
            done = [
                one.save_assessment("key " + judgment.id, judgment, said, "r") for one in replicas for _ in range(4)
            ]
            await asyncio.gather(*done)
            found = await replicas[0].show(judgment.id)
            assert (found["assessments_total"], found["history_total"]) == (1, 1)
        for one in replicas:
            await one.close()


class TestComparison:
    @pytest.mark.parametrize(
        ("changes", "older"),
        [
            ({"calls": 0, "cached_calls": 3, "cost_usd": None}, 0),
            ({"usage": TokenUsage(input_tokens=5)}, 0),
            ({"agents": tuple(one.model_copy(update={"latency_s": 9.0, "calls": 0}) for one in RESULT.agents)}, 0),
            ({"decided_by": "score", "cut": 4.5, "cut_from": "default"}, 0),
            ({"final_score": 4.9}, 1),
            ({"accepted": True}, 1),
            ({"seed": 3}, 1),
            ({"metajudge_version": "9"}, 1),
            ({"agents": (made_agent("strict", "fox-2", (2.0, 3.0, 4.0, 5.0)), *RESULT.agents[1:])}, 1),
            ({"agents": RESULT.agents[:2]}, 1),
        ],
    )
    async def test_what_it_cost_and_the_name_of_the_rule_are_no_news_and_anything_else_is(
        self, store, changes, older
    ) -> None:
        other = RESULT.model_copy(update=changes)
        await save(store, RESULT, other)
        assert await kept(store) == (other if older else RESULT, older)

    async def test_a_result_is_kept_as_found_under_a_guarantee_that_turned_its_outcome(self, store) -> None:
        promised = GuaranteedThreshold(threshold=0.8, target=0.9, delta=0.1)
        turned = calibrated("one", None).model_copy(
            update={"guarantee": promised, "status": Status.UNSCORED, "accepted": None, "failure": TIMEOUT}
        )
        for _ in range(3):
            await store.save_assessment("key", JUDGMENT, turned, "r", RESULT)
        await save(store, RESULT)
        assert await kept(store) == (turned, 1)
        assert await store.find_assessments(["key"]) == {"key": RESULT}
        (line,) = (await store.ask(partial(page_of_assessments, wanted=AssessmentFilter(), limit=5))).lines
        assert (line.outcome, line.probability) == ("unscored", None)


PANELS = ("p" * 32, "q" * 32)
RUNS = ("run-1", "run-2", "run-3")


@dataclass(frozen=True)
class Row:
    judgment: Judgment
    said: Assessment
    run: str

    @property
    def subject(self):
        return self.said.judgment_digest, self.said.panel_digest

    @property
    def outcome(self):
        if self.said.status is Status.ASSESSED:
            return "kept" if self.said.accepted else "not_kept"
        return self.said.status.value

    @property
    def action(self):
        return None if self.said.decision is None else self.said.decision.action.value


def drawn_rows(count=160):
    """Vetting as it leaves rows: results, decisions by two policies in any order, retries that end differently."""
    rng = random.Random(5)
    judgments = [made_judgment(n % 5, judge=f"judge-{n % 3}").model_copy(update={"id": f"j{n}"}) for n in range(12)]
    for _ in range(count):
        judgment, panel = rng.choice(judgments), rng.choice(PANELS)
        changes = {"panel_digest": panel, "strategy": "weighted_average" if panel == PANELS[0] else "majority_vote"}
        status = rng.choice([Status.ASSESSED] * 4 + [Status.UNSCORED, Status.FAILED])
        if status is not Status.ASSESSED:
            changes |= {
                "status": status,
                "final_score": None,
                "accepted": None,
                "probability": None,
                "calibrated": False,
            }
        policy = rng.choice([None, "strict", "lax"])
        said = made_assessment(judgment, rng.randrange(40), **changes)
        said = said.model_copy(
            update={"decision": said.decision.model_copy(update={"policy": policy}) if policy else None}
        )
        yield Row(judgment, said, rng.choice(RUNS))


def versions_of(rows):
    """How many versions these make: what the panel found, and what was said of it."""
    return sum(2 if row.said.decision is not None or row.said.probability is not None else 1 for row in rows)


def lines_of(rows):
    """The newest of each judgment and panel, in the order in which they were saved: by brute force."""
    return [row for place, row in enumerate(rows) if row.subject not in {later.subject for later in rows[place + 1 :]}]


@pytest.fixture
async def rows(store):
    """Saved under a key each, as earlier versions left several rows that say the same."""
    found = list(drawn_rows())
    for number, row in enumerate(found):
        await store.save_assessment(f"key-{number}", row.judgment, row.said, row.run)
    assert len(lines_of(found)) < len(found) / 4
    return found


async def listed(store, wanted=None, limit=7):
    """All pages of the list, from the newest to the oldest."""
    found, before = [], None
    while True:
        page = await store.ask(
            partial(browsing.page_of_assessments, wanted=wanted or AssessmentFilter(), limit=limit, before=before)
        )
        found += page.lines
        if page.older is None:
            return found
        before = page.older


def shown(line):
    return line.judgment_id, line.panel_digest, line.outcome, line.action, line.run_id


def meant(row):
    return row.judgment.id, row.said.panel_digest, row.outcome, row.action, row.run


class TestCounts:
    async def test_the_dashboard_counts_judgments_and_not_rows(self, store, rows) -> None:
        lines = lines_of(rows)
        days = await store.ask(lambda c: dashboard.outcomes_by_day(c, 0.0))
        assert Counter({one.kind: one.n for one in days}) == Counter(row.outcome for row in lines)
        panels = await store.ask(lambda c: dashboard.panels(c, 0.0))
        assert {one.panel_digest: one.n for one in panels} == Counter(row.said.panel_digest for row in lines)
        judges = await store.ask(lambda c: dashboard.judges(c, 0.0))
        assert {one.judge: one.n for one in judges} == Counter(row.said.judge for row in lines)
        for one in judges:
            own = Counter(row.outcome for row in lines if row.said.judge == one.judge)
            undecided = own["unscored"] + own["failed"]
            assert (one.kept, one.not_kept, one.undecided) == (own["kept"], own["not_kept"], undecided)

    @pytest.mark.parametrize("panel", PANELS)
    async def test_decisions_are_those_that_stand(self, store, rows, panel) -> None:
        own = [row for row in lines_of(rows) if row.said.panel_digest == panel]
        days = await store.ask(lambda c: dashboard.actions_by_day(c, 0.0, panel))
        assert {one.kind: one.n for one in days} == Counter(row.action for row in own if row.action is not None)
        await store.line_facts.add_missing()
        query = "SELECT final_score FROM line_facts WHERE panel_digest = $1 ORDER BY number"
        scores = await store.ask(lambda c: [score for (score,) in c.execute(query, [panel]).fetchall()])
        assert scores == [row.said.final_score for row in own]

    async def test_agents_without_an_answer_are_counted_once_a_judgment_and_panel(self, store, rows) -> None:
        failures = await store.ask(lambda c: dashboard.failures(c, 0.0))
        assert {one.kind: one.agents for one in failures} == {"timeout": len(lines_of(rows))}  # one agent of each

    async def test_a_run_counts_what_it_said_last_of_each_judgment(self, store, rows) -> None:
        totals = await store.ask(lambda c: dashboard.run_totals(c, [*RUNS, "none"]))
        for run in RUNS:
            own = lines_of([row for row in rows if row.run == run])
            assert totals[run].outcomes == Counter(row.outcome for row in own)
            assert totals[run].assessments == len(own)
            kept = await store.run_assessments(run)
            assert [said for _, said in kept] == [row.said for row in own]
            assert [shown(line) for line in await listed(store, AssessmentFilter(run=run))] == [
                meant(row) for row in reversed(own)
            ]
        assert totals["none"].assessments == 0


class TestLists:
    @pytest.mark.parametrize(
        "wanted",
        [
            {},
            {"outcome": "failed"},
            {"outcome": "kept"},
            *({"decision": action} for action in ACTIONS),
            {"judge": "judge-1"},
            {"judge": "judge-1", "decision": "REJECT"},
            {"panel": "q"},
            {"strategy": "weighted_average"},
            {"agent": "kind"},
            {"text": "(3)"},
            {"run": "run-2", "decision": "REVIEW"},
        ],
    )
    async def test_a_filter_looks_at_the_newest_rows_alone(self, store, rows, wanted) -> None:
        tests = {
            "outcome": lambda row, value: row.outcome == value,
            "decision": lambda row, value: row.action == value,
            "judge": lambda row, value: row.said.judge == value,
            "panel": lambda row, value: row.said.panel_digest[0] == value,
            "strategy": lambda row, value: row.said.strategy == value,
            "agent": lambda row, value: True,
            "text": lambda row, value: value in row.judgment.item.question,
            "run": lambda row, value: True,
        }
        lines = lines_of([row for row in rows if wanted.get("run", row.run) == row.run])
        fitting = [row for row in lines if all(tests[name](row, value) for name, value in wanted.items())]
        found = await listed(store, AssessmentFilter(**wanted), limit=4)
        assert [shown(line) for line in found] == [meant(row) for row in reversed(fitting)]

    @pytest.mark.parametrize("wanted", [{}, {"decision": "REVIEW"}, {"status": Status.FAILED}, {"accepted": True}])
    async def test_the_interface_lists_the_same(self, store, rows, wanted) -> None:
        tests = {
            "decision": lambda row, value: row.action == value,
            "status": lambda row, value: row.said.status is value,
            "accepted": lambda row, value: row.said.accepted is value,
        }
        fitting = [row for row in lines_of(rows) if all(tests[name](row, value) for name, value in wanted.items())]
        page = await store.ask(lambda c: newest_fitting(c, AssessmentFilter(**wanted), 0, 100))
        assert [said for _, said in page.found] == [row.said for row in fitting]

    async def test_the_newest_and_a_judgments_history(self, store, rows) -> None:
        pages, after = [], 0
        while page := await store.newest_assessments(after, 7):
            pages, after = [*pages, page], page[-1][0]
        assert [len(page) for page in pages[:-1]] == [7] * (len(pages) - 1)
        assert [said for page in pages for _, said in page] == [row.said for row in lines_of(rows)]
        name = rows[0].judgment.id
        about = [row for row in rows if row.judgment.id == name]
        found = await store.show(name)
        assert [Assessment.model_validate(one["payload"]) for one in found["assessments"]] == [
            row.said for row in lines_of(about)
        ]
        assert found["assessments_total"] == len(lines_of(about))
        assert found["history_total"] == len(found["history"]) == versions_of(about) - len(lines_of(about))
        by_run = await store.show("run-2")
        own = [row for row in rows if row.run == "run-2"]
        assert by_run["assessments_total"] == len(lines_of(own))
        assert by_run["history_total"] == versions_of(own) - len(lines_of(own))
