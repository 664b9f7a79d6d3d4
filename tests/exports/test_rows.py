"""Which rows come of which judgments, grades and labels, and what is dropped with which reason."""

import json

import duckdb
import pytest

from metajudge.errors import ConfigurationError, InputError
from metajudge.exports import ExportRequest, export, responses
from metajudge.exports.checking import check
from metajudge.exports.verdicts import define
from metajudge.reading import parse_map
from metajudge.types import Label, parse_verdict
from tests.exports.stored import exported_from, filled
from tests.exports.vetted import assessment, bar, dropped, exported, judgment, rows_of, single

SAME = {"question": "What is a fjord?", "responses": {"A": "A drowned valley.", "B": "A kind of boat."}}
THREE = {"x": "An answer in full.", "y": "Half an answer, perhaps.", "z": "No answer, sadly."}
FOUR = {**THREE, "u": "Off the point!"}
BASE = "Describe how a steam locomotive turns heat into motion on a long mountain railway line"
STEAM = {"A": "Water boils, steam pushes pistons, rods turn the driving wheels.", "B": "By magic, and by coal."}
SCALE = ("poor", "fair", "good")
ALL, GUARANTEE = {"rule": "all"}, {"rule": "guarantee", "target": 0.9, "delta": 0.1}
JUDGES = {"kind": "judgments"}
UNSURE = [judgment(0, judge="t", verdict="A=B"), judgment(0, judge="s", verdict=None), judgment(0, judge="u")]


def said(*verdicts, number=0):
    """Verdicts on one item, each by a judge of its own."""
    return [judgment(number, judge=f"j{place}", verdict=verdict) for place, verdict in enumerate(verdicts)]


CASES = {
    "what vetting did not accept never becomes a pair": (
        [judgment(0), judgment(1, verdict="B>A")], [{}, {"accepted": False}], {},
        "item_id", ["item-0"], {"discarded": 1},
    ),
    "the preferred response is chosen in either order": (
        [judgment(0, verdict="A>B"), judgment(1, verdict="B>>A", order=("B", "A"))], None, {},
        "chosen_id margin strength", [("A", 1, 1), ("B", 2, 2)], {},
    ),
    "unanimous drops orders and judges that conflict": (
        [judgment(0), judgment(0, order=("B", "A")), judgment(1), judgment(1, order=("B", "A"), verdict="B>A"),
         *said("A>B", "B>A", number=2), judgment(3, verdict="A=B"), *said("A>B", "A=B", number=4)], None, {},
        "item_id votes", [("item-0", 2)], {"tie": 1, "order_conflict": 1, "judge_conflict": 2},
    ),
    "majority counts judges, not verdicts": (
        [*(judgment(0, order=order, verdict="B>A") for order in (("A", "B"), ("B", "A"))),
         *(judgment(0, judge=name, verdict="A>>B") for name in ("jay", "wren")), *said("A>B", "B>A", number=1)],
        None, {"reconcile": "majority"},
        "item_id chosen_id judge margin", [("item-0", "A", "jay, wren", 0.5)], {"judge_conflict": 1},
    ),
    "a ranking gives a pair for every two groups": (
        [judgment(0, verdict=[["x"], ["y", "z"], ["u"]], responses=FOUR, order=tuple(FOUR))], None, {},
        "chosen_id rejected_id", {("x", "y"), ("x", "z"), ("x", "u"), ("y", "u"), ("z", "u")}, {"tie": 1},
    ),
    "in kto a response that won and lost is dropped": (
        [judgment(0, verdict=[["x"], ["y"], ["z"]], responses=THREE, order=tuple(THREE))], None, {"format": "kto"},
        "completion label", {(THREE["x"], True), (THREE["z"], False)}, {"won_and_lost": 1},
    ),
    "the lowest probability of the agreeing verdicts stands for the pair": (
        [judgment(0), judgment(0, order=("B", "A"))], [{"probability": 0.9}, {"probability": 0.7}], {},
        "probability agents judgments", [(0.7, "wren (wren-1)", ["item-0/owl/AB", "item-0/owl/BA"])], {},
    ),
    "only kept grades make pairs, and judges are not compared with each other": (
        [single(0, 3), single(1, 8), single(2, 9), single(0, 1, judge="jay"), single(2, 2, judge="wren")],
        [{}, {"accepted": False}, {}, {}, {}], {},
        "chosen_id rejected_id margin", [("item-2", "item-0", 6.0)], {"discarded": 1, "only_graded_response": 2},
    ),
    "grades of one item's responses are pairs, and repeats count as their mean": (
        [judgment(0, verdict=grade, order=(name,), id=f"{name}{grade}") for grade, name in ((4, "A"), (6, "A"), (8, "B"))],
        None, {"format": "ultrafeedback"},
        "chosen_id rejected_id margin score_chosen score_rejected", [("B", "A", 3.0, 8.0, 5.0)], {},
    ),
    "categories are ordered by pass and fail or by the declared scale": (
        [single(0, True), single(1, "fail"), single(2, "poor", question="Q", scale=SCALE),
         single(3, "good", question="Q", scale=SCALE), single(4, "[blue", question="R"),
         single(5, {"category": "a=b"}, question="R")], None, {},
        "chosen_id rejected_id margin", [("item-0", "item-1", 1.0), ("item-3", "item-2", 2.0)], {"no_order": 2},
    ),
    "comparisons are taken before grades": (
        [judgment(0), single(1, 3), single(2, 8)], None, {}, "item_id", ["item-0"], {"single_response": 2},
    ),
    "grades are taken before comparisons where asked": (
        [judgment(0), single(1, 3), single(2, 8)], None, {"from_grades": True},
        "chosen_id rejected_id margin", [("item-2", "item-1", 5.0)], {"comparison": 1},
    ),
    "categories and grades over a pass mark say what is desired": (
        [single(0, "pass"), single(1, False), single(2, 7.0), single(3, 6.9), single(4, "blue"), single(5, True),
         single(5, False, judge="jay")], None, {"format": "kto", "pass_mark": 7},
        "item_id label completion",
        [(f"item-{n}", n % 2 == 0, f"Answer number {n}, in so many words.") for n in range(4)],
        {"neither_pass_nor_fail": 1, "judge_conflict": 1},
    ),
    "the majority of judges says what passes": (
        [single(0, True), single(0, True, judge="jay"), single(0, False, judge="wren")], None,
        {"format": "kto", "reconcile": "majority"}, "label votes judge", [(True, 3, "jay, owl")], {},
    ),
    "without a pass mark grades are desired or not as in their pairs": (
        [single(0, 3), single(1, 8)], None, {"format": "kto"},
        "chosen_id label", {("item-0", False), ("item-1", True)}, {},
    ),
    "truncation that the provider reported counts however the text ends": (
        [judgment(0, meta={"response_finish": {"B": "length"}}), judgment(1, meta={"response_finish": {"B": "stop"}})],
        None, {}, "item_id", ["item-1"], {"truncated": 1},
    ),
    "truncated texts are kept where asked": (
        [judgment(0, meta={"response_finish": {"B": "length"}})], None, {"truncation": "keep"}, "item_id", ["item-0"], {},
    ),
    "exact duplicates are always removed and the most probable stays": (
        [judgment(number, **SAME) for number in range(3)], [{"probability": value} for value in (0.6, 0.9, 0.7)], {},
        "item_id", ["item-1"], {"exact_duplicate": 2},
    ),
    "pairs that contradict each other are both dropped": (
        [judgment(0, **SAME), judgment(1, verdict="B>A", **SAME), judgment(2)], None, {},
        "item_id", ["item-2"], {"contradiction": 2},
    ),
    "near duplicates stay unless asked": (
        [judgment(0, question=BASE, responses=STEAM), judgment(1, question=BASE + " please", responses=STEAM)], None, {},
        "item_id", ["item-0", "item-1"], {},
    ),
    "near duplicates go where asked": (
        [judgment(0, question=BASE, responses=STEAM), judgment(1, question=BASE + " please",
         responses={**STEAM, "A": STEAM["A"] + " Simple!"}), judgment(2)], None, {"dedupe": True},
        "question", {BASE, judgment(2).item.question}, {"near_duplicate": 1},
    ),
    "a minimum probability keeps from the bound on": (
        [judgment(number) for number in range(4)],
        [{"accepted": False, "probability": value} for value in (0.8, 0.799, 0.95, None)],
        {"selection": {"rule": "min_probability", "min_probability": 0.8}},
        "item_id", ["item-0", "item-2"], {"below_min_probability": 1, "no_probability": 1},
    ),
    "a guarantee keeps exactly what reaches its threshold": (
        [judgment(number) for number in range(4)],
        [{"probability": 0.8, "guarantee": bar(0.8)}, {"probability": 0.8 - 1e-7, "guarantee": bar(0.8)},
         {"probability": 0.99, "guarantee": bar(0.8, target=0.7)}, {"probability": 0.99}], {"selection": GUARANTEE},
        "item_id", ["item-0"], {"below_guaranteed_threshold": 1, "no_guarantee": 2},
    ),
    "judge pairs by label choose right over wrong whatever vetting said": (
        [judgment(0, label="A>B"), judgment(0, judge="jay", verdict="B>A", label="A>B"), judgment(1)],
        [{"accepted": False}] * 3, {**JUDGES, "by_label": True, "selection": ALL},
        "chosen_id rejected_id", [("item-0/owl/AB", "item-0/jay/AB")], {"no_label": 1},
    ),
    "ties, unanswered and unscored judgments take no part in judge pairs": (
        [judgment(0), judgment(0, judge="wren", verdict="B>A"), *UNSURE],
        [{}, {"accepted": False}, {}, {"accepted": None, "status": "failed"}, {"accepted": None, "status": "unscored"}],
        JUDGES, "judge", ["owl over wren"], {"tie": 1, "no_verdict": 1, "asked": 1, "discarded": 1},
    ),
    "a text that was kept here and discarded there is no lesson": (
        [*(judgment(0, judge=name, rationale="A is better.") for name in ("owl", "jay")), judgment(1)],
        [{}, {"accepted": False}, {"accepted": False}], {**JUDGES, "format": "kto"},
        "item_id", ["item-1"], {"contradiction": 2, "discarded": 2},
    ),
    "a file's assessments carry the policy's action": (
        [judgment(number) for number in range(3)],
        [{"action": "REJECT"}, {"action": "APPROVE", "accepted": False}, {"action": "REVIEW"}], {},
        "item_id kept_by", [("item-1", "policy")], {"rejected_by_policy": 1, "waiting_for_review": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_rows_and_reasons(tmp_path, case):
    judgments, changes, options, columns, expected, reasons = CASES[case]
    vetted = [
        assessment(one, **change) for one, change in zip(judgments, changes or [{}] * len(judgments), strict=True)
    ]
    result, rows = exported(tmp_path / "d", judgments, vetted, **options)
    found = [tuple(row[name] for name in columns.split()) for row in rows]
    found = [row[0] for row in found] if " " not in columns else found
    assert (set(found) if isinstance(expected, set) else found) == expected
    assert len(found) == len(expected)
    assert dropped(result) == reasons


@pytest.mark.parametrize("reconcile", ["unanimous", "majority"])
def test_swapping_the_ids_of_the_responses_changes_nothing_but_the_ids(tmp_path, reconcile):
    names = {"A": "B", "B": "A"}

    def swapped(one):
        responses = {names[name]: text for name, text in one.item.responses.items()}
        item = one.item.model_copy(update={"responses": responses})
        order = tuple(names[name] for name in one.order)
        return one.model_copy(update={"item": item, "verdict": one.verdict.relabelled(names), "order": order})

    verdicts = ["A>B", "A>>B", "B>A", "A=B", "B>>A", "A>B", "A>B", "B>A", "A>B", "A=B", "B>A", "A>B"]
    judgments = [
        judgment(number % 5, judge=f"judge-{number // 5}", verdict=said) for number, said in enumerate(verdicts)
    ]
    _, plain = exported(tmp_path / "plain", judgments, reconcile=reconcile)
    _, other = exported(tmp_path / "other", [swapped(one) for one in judgments], reconcile=reconcile)
    assert [(row["chosen"], row["rejected"], row["margin"]) for row in plain] == [
        (row["chosen"], row["rejected"], row["margin"]) for row in other
    ]


def test_items_with_one_response_alone_are_an_error(tmp_path):
    graded = judgment(1, verdict=4.0, responses={"A": "The only answer."}, order=("A",))
    with pytest.raises(InputError, match="Grades make pairs of responses to the same question"):
        exported(tmp_path / "e", [graded])
    assert not (tmp_path / "e").exists()
    assert not list(tmp_path.glob(".*partial"))


def pairs(rows):
    return [(row["chosen_id"], row["rejected_id"], row["margin"]) for row in rows]


def test_of_two_responses_to_one_question_the_higher_grade_is_chosen_and_equal_ones_are_counted(tmp_path):
    grades = [single(0, 3), single(1, 8), single(2, 3), single(3, 5, question="Explain rust.")]
    result, rows = exported(tmp_path / "d", grades)
    assert pairs(rows) == [("item-1", "item-0", 5.0), ("item-1", "item-2", 5.0)]
    assert [row["item_id"] for row in rows] == ["item-0", "item-0"]
    assert (rows[0]["chosen"], rows[0]["rejected"]) == (
        "Answer number 1, in so many words.",
        "Answer number 0, in so many words.",
    )
    assert rows[0]["judgments"] == ["item-0/owl/A", "item-1/owl/A"]
    assert dropped(result) == {"only_graded_response": 1, "tie": 1}
    assert result.stats["kinds"] == {"grade": {"judgments": 4, "kept": 4}}
    assert "The rows are from grades of single responses" in (tmp_path / "d" / "README.md").read_text()


def test_judges_that_order_two_responses_differently_conflict(tmp_path):
    grades = [single(0, 3), single(1, 8), single(0, 9, judge="jay"), single(1, 2, judge="jay")]
    with pytest.raises(InputError, match="1 judge conflict"):
        exported(tmp_path / "d", grades)


def test_too_many_responses_to_one_question_are_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(responses, "MOST_PAIRS", 2)
    with pytest.raises(InputError, match="3 pairs of responses to the same question, more than 2"):
        exported(tmp_path / "d", [single(number, number) for number in range(3)])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"pass_mark": 3}, "use it with kind responses and format kto"),
        ({"format": "kto", "max_length": 9}, "format kto has none"),
        ({"kind": "judgments", "from_grades": True}, "use from_grades with kind responses"),
    ],
)
def test_options_that_contradict_each_other_are_refused(asked, words):
    with pytest.raises(ConfigurationError, match=words):
        ExportRequest.model_validate(asked)


def test_pairs_that_are_equal_where_a_trainer_cuts_are_dropped_and_counted(tmp_path):
    same, long = "The same beginning of both. ", "Explain it at great length, with examples."
    said = [
        judgment(0, question="Why?", responses={"A": same + "One end.", "B": same + "Other end."}),
        judgment(1, question="Why so?", responses={"A": "Yes, for that.", "B": "No, for this."}),
        judgment(2, question=long, responses={"A": "Glad to.", "B": "Never."}),
    ]
    limit = len("Why?") + len(same)
    result, rows = exported(tmp_path / "d", said, max_length=limit)
    assert [row["item_id"] for row in rows] == ["item-1"]
    assert dropped(result) == {"equal_after_truncation": 2}
    assert f"first {limit} characters" in (tmp_path / "d" / "README.md").read_text()
    _, rows = exported(tmp_path / "e", said, max_length=limit + len(long))
    assert [row["item_id"] for row in rows] == ["item-0", "item-1", "item-2"]


def labelled(number, *labels, **changes):
    people_said = judgment(number, **changes)
    entries = tuple(Label(value=value, annotator=name) for name, value in labels)
    return people_said.model_copy(update={"item": people_said.item.model_copy(update={"labels": entries})})


@pytest.fixture
def people_said():
    """Three people in two records, one of them in both, say B; the judges say A and B."""
    return [
        labelled(0, ("ann", "B>A"), ("ben", "A>B"), judge="owl", verdict="A>B"),
        labelled(0, ("ann", "B>A"), ("cal", "B>A"), judge="jay", verdict="B>A"),
        labelled(1, ("ann", "B>A"), ("ben", "A>B"), judge="owl", verdict="A>B"),
        labelled(1, judge="jay", verdict="B>A"),
    ]


OPTIONS = {"kind": "judgments", "by_label": True, "selection": {"rule": "all"}}


@pytest.mark.parametrize("stored", [False, True])
def test_the_majority_over_all_records_is_the_label_and_a_tie_is_none(tmp_path, people_said, stored):
    if stored:
        store = filled(tmp_path / "s.duckdb", [(one, assessment(one)) for one in people_said])
        exported_from(store, tmp_path / "d", **OPTIONS)
        rows = rows_of(tmp_path / "d")
    else:
        _, rows = exported(tmp_path / "d", people_said, **OPTIONS)
    assert [row["judge"] for row in rows] == ["jay over owl"]


def test_grades_and_categories_come_out_of_a_store_as_people_corrected_them(tmp_path):
    people_said = [
        *(single(0, 3), single(1, 8)),
        *(single(2, "pass", question="Q"), single(3, False, question="Q")),
        single(4, {"category": "[a>b]"}, question="Q"),
    ]
    records = [(one, assessment(one)) for one in people_said]
    reviews = [(people_said[0], ["9.5"])]
    result, _ = exported_from(filled(tmp_path / "s.duckdb", records, reviews), tmp_path / "d")
    assert pairs(rows_of(tmp_path / "d")) == [("item-0", "item-1", 1.5), ("item-2", "item-3", 1.0)]
    assert result.stats["kinds"] == {"category": {"judgments": 3, "kept": 3}, "grade": {"judgments": 2, "kept": 2}}


def panel(number=0, order=("A", "B"), scores=None):
    """Three judges of one prompt: two for A (kept), one for B (discarded), by default."""
    said = [
        judgment(number, judge="owl", order=order),
        judgment(number, judge="jay", order=order),
        judgment(number, judge="wren", order=order, verdict="B>A"),
    ]
    scores = scores or (4.9, 4.6, 2.0)
    return said, [assessment(one, score > 4.5, final_score=score) for one, score in zip(said, scores, strict=True)]


def test_the_best_kept_judgment_is_chosen_over_the_worst_discarded_one(tmp_path):
    said, vetted = panel()
    _, (row,) = exported(tmp_path / "d", said, vetted, kind="judgments")
    assert row["chosen"] == said[0].rationale + "\n\n[[A>B]]"
    assert row["rejected"] == said[2].rationale + "\n\n[[B>A]]"
    assert row["margin"] == pytest.approx(2.9)
    assert (row["chosen_id"], row["rejected_id"]) == (said[0].id, said[2].id)
    assert row["judge"] == "owl over wren"


def test_the_prompt_shows_what_the_judge_saw_in_its_order_and_under_its_labels(tmp_path):
    said, vetted = panel(order=("B", "A"))
    _, (row,) = exported(tmp_path / "d", said, vetted, kind="judgments")
    responses = said[0].item.responses
    assert f"[Response A]\n{responses['B']}\n\n[Response B]\n{responses['A']}" in row["prompt"]
    assert row["chosen"].endswith("[[B>A]]"), "response A stood second, so the judge called it B"


def test_judgments_of_different_orders_are_never_paired_since_their_prompts_differ(tmp_path):
    kept, discarded = judgment(0), judgment(0, judge="jay", verdict="B>A", order=("B", "A"))
    with pytest.raises(InputError, match="Judge pairs need a kept and a discarded judgment of one prompt"):
        exported(tmp_path / "d", [kept, discarded], [assessment(kept), assessment(discarded, False)], kind="judgments")


def test_pairings(tmp_path):
    said, vetted = panel()
    extra = judgment(0, judge="lark", verdict="B>>A")
    said, vetted = [*said, extra], [*vetted, assessment(extra, False, final_score=1.0)]
    counts = {
        pairing: [(row["chosen_id"], row["rejected_id"]) for row in rows]
        for pairing in ("best-worst", "one-per-judge", "all")
        for _, rows in [exported(tmp_path / pairing, said, vetted, kind="judgments", pairing=pairing)]
    }
    worst = extra.id
    assert counts["best-worst"] == [(said[0].id, worst)]
    assert set(counts["one-per-judge"]) == {(said[0].id, worst), (said[1].id, worst)}
    assert len(counts["all"]) == 4


def test_quality_pairs_of_the_same_winner_only_where_asked_for(tmp_path):
    good, poor = judgment(0), judgment(0, judge="jay")
    vetted = [assessment(good), assessment(poor, False)]
    with pytest.raises(InputError, match="1 same winner"):
        exported(tmp_path / "d", [good, poor], vetted, kind="judgments")
    _, rows = exported(tmp_path / "d", [good, poor], vetted, kind="judgments", quality_pairs=True)
    assert [row["chosen_id"] for row in rows] == [good.id]


def test_by_label_there_must_be_a_label(tmp_path):
    with pytest.raises(InputError, match="no judgment has a label"):
        exported(tmp_path / "e", [judgment(1)], kind="judgments", by_label=True)


def test_kto_takes_every_judgment_with_its_label(tmp_path):
    said, vetted = panel()
    _, rows = exported(tmp_path / "d", said, vetted, kind="judgments", format="kto")
    assert sorted(row["label"] for row in rows) == [False, True, True]
    assert all(row["prompt"].startswith("Compare the responses") for row in rows)


def test_a_verdict_the_rationale_states_already_is_not_stated_twice(tmp_path):
    said, vetted = panel()
    stated = said[0].model_copy(update={"rationale": "A is right.\n[[A>B]]"})
    said[0], vetted[0] = stated, assessment(stated, final_score=4.9)
    _, (row,) = exported(tmp_path / "d", said, vetted, kind="judgments")
    assert row["chosen"] == stated.rationale


def test_keeping_everything_leaves_nothing_to_reject():
    with pytest.raises(ConfigurationError, match="none is discarded"):
        ExportRequest(kind="judgments", selection={"rule": "all"})


@pytest.mark.slow
def test_equally_good_judgments_are_chosen_between_by_the_seed_not_by_name(tmp_path):
    chosen = set()
    for seed in range(8):
        said, vetted = panel(scores=(4.9, 4.9, 2.0))
        _, (row,) = exported(tmp_path / str(seed), said, vetted, kind="judgments", seed=seed)
        chosen.add(row["chosen_id"])
    assert len(chosen) == 2


VERDICTS = ["A>>B", "A>B", "A=B", "B>A", "B>>A", '[["A"],["B","C"]]', '[["A","B"],["C"]]', '[["A","B"]]']


@pytest.fixture(scope="module")
def work():
    with duckdb.connect() as connection:
        define(connection)
        yield connection


def value(work, expression, *given):
    return work.execute(f"SELECT {expression}", list(given)).fetchone()[0]


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_winner_is_the_verdicts_own(work, verdict):
    import json

    parsed = parse_verdict(json.loads(verdict) if verdict.startswith("[") else verdict)
    assert value(work, "winner(?)", verdict) == parsed.winner


@pytest.mark.parametrize(
    ("verdict", "label", "right"),
    [
        ("A>>B", "A>B", True),
        ("B>A", "A>B", False),
        ("A=B", "A>B", False),
        ("A=B", "A=B", None),
        ("A>B", "A=B", None),
        ("4", "A>B", None),
        ("A>B", "4", None),
    ],
)
def test_right_by_a_label(work, verdict, label, right):
    assert value(work, "right_by_label(?, ?)", verdict, label) is right


def test_texts_are_compared_without_case_space_and_composition(work):
    assert value(work, "normal(?)", "É  X\n\tY\u00a0") == value(work, "normal(?)", "e\u0301xy")
    assert value(work, "normal(?) = normal(?)", "one", "two") is False


def test_trajectories_are_rows_of_messages_with_their_calls(tmp_path):
    def side(town, degrees):
        call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": f'{{"town":"{town}"}}'}}
        asked = [{"role": "system", "content": "Use tools."}, {"role": "user", "content": "How warm is it?"}]
        result = {"role": "tool", "tool_call_id": "c", "content": f"{degrees} C"}
        calling = {"role": "assistant", "content": None, "tool_calls": [call]}
        return [*asked, calling, result, {"role": "assistant", "content": f"<think>Hm.</think>It is {degrees} C."}]

    row = {"id": "j", "judge": "owl", "winner": "A", "a": side("Oslo", 0), "b": side("Rome", 20)}
    (tmp_path / "t.jsonl").write_text(json.dumps(row))
    mapping = parse_map(["verdict=winner,judge=judge,id=id,question=a,responses.A=a,responses.B=b"])
    for layout in ("trl", "jsonl", "kto", "ultrafeedback", "trl-conversational"):
        request = ExportRequest.model_validate({"selection": ALL, "format": layout})
        out = tmp_path / layout
        export(out, request, judgments=[tmp_path / "t.jsonl"], mapping=mapping)
        assert not check(out).faults
        found = rows_of(out)[0]
        chosen = found["completion" if layout == "kto" else "chosen"]
        roles = ["system", "user"] * (layout == "ultrafeedback") + ["assistant", "tool", "assistant"]
        assert [one["role"] for one in chosen] == roles
        assert chosen[-3]["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"town":"Oslo"}'}
        assert (chosen[-2]["tool_call_id"], chosen[-1]["content"]) == ("c", "It is 0 C.")
        if layout != "ultrafeedback":
            assert [one["role"] for one in found["prompt"]] == ["system", "user"]
