"""Small judgments with assessments, and exports of them."""

from metajudge.exports import ExportRequest, export
from metajudge.types import Assessment, GuaranteedThreshold, Judgment
from metajudge.types.decision import Decision, DecisionInputs

TOPICS = (
    "glaciers melting in summer heat",
    "why bread dough needs gluten to rise",
    "the rules of offside in football",
    "how vaccines train immune memory cells",
    "tuning a violin by perfect fifths",
    "planting garlic before the first frost",
    "reading a topographic map at night",
    "what makes concrete crack with age",
    "how sonar pings locate a submarine",
    "brewing coffee at high altitude",
    "the grammar of Finnish noun cases",
    "keeping bees through a wet spring",
)


def judgment(
    number=0,
    *,
    judge="owl",
    verdict="A>B",
    order=("A", "B"),
    question=None,
    responses=None,
    label=None,
    id=None,
    item_id=None,
    rationale=None,
    **changes,
):
    """One judgment of item ``number``; every item is about something else."""
    topic = TOPICS[number % len(TOPICS)] + ("" if number < len(TOPICS) else f" ({number // len(TOPICS)} times over)")
    item = {
        "id": item_id or f"item-{number}",
        "question": question or f"Explain {topic}.",
        "responses": responses or {"A": f"First take on {topic}, with care.", "B": f"Another view: {topic}!"},
        "label": label,
        "category": changes.pop("category", None),
    }
    data = {
        "id": id or f"{item['id']}/{judge}/{''.join(order)}",
        "item": item,
        "judge": judge,
        "verdict": verdict,
        "no_verdict": None if verdict is not None else "it gave none",
        "order": list(order),
        "rationale": rationale if rationale is not None else f"{judge} weighed {topic} and found {verdict} in {order}.",
    }
    return Judgment.model_validate({**data, **changes})


def single(number, verdict, *, question="Explain tides.", judge="owl", scale=None):
    """A verdict on one response; every item has one response of its own."""
    responses = {"A": f"Answer number {number}, in so many words."}
    said = judgment(number, judge=judge, verdict=verdict, order=("A",), question=question, responses=responses)
    return said.model_copy(update={"item": said.item.model_copy(update={"scale": scale})})


def decision(action):
    """What the policy decided."""
    inputs = DecisionInputs(basis="score", value=4.0, confidence=0.9, confidence_rule="same_side")
    return Decision(action=action, policy="strict", policy_digest="d" * 32, justification="by the band", inputs=inputs)


def assessment(said: Judgment, accepted=True, action=None, **changes):
    """What vetting said of a judgment, with a policy's action where one is given."""
    data = {
        "judgment_id": said.id,
        "item_id": said.item.id,
        "judge": said.judge,
        "status": "assessed",
        "accepted": accepted,
        "final_score": 4.8 if accepted else 3.0,
        "strategy": "single",
        "threshold": 4.5,
        "rubric": "short",
        "rubric_digest": "r" * 32,
        "panel_digest": "p" * 32,
        "judgment_digest": said.digest,
        "decision": None if action is None else decision(action),
        "metajudge_version": "0.1.0",
        "agents": [{"agent": "wren", "model": "wren-1", "weight": 1.0, "score": 4.8}],
    }
    return Assessment.model_validate({**data, **changes})


def bar(threshold=0.8, target=0.9, delta=0.1):
    return GuaranteedThreshold(threshold=threshold, target=target, delta=delta)


def exported(out, judgments, assessments=None, **options):
    """Exports judgments, all accepted unless assessments are given; returns the result and the rows."""
    judgments = list(judgments)
    assessments = [assessment(one) for one in judgments] if assessments is None else list(assessments)
    sources = {name: options.pop(name) for name in ("calibration", "decontaminate", "watch") if name in options}
    result = export(out, ExportRequest(**options), judgments=judgments, assessments=assessments, **sources)
    return result, rows_of(out)


def rows_of(out):
    """All rows of a folder, with their split, in order."""
    import duckdb

    found = []
    for path in sorted((out / "data").iterdir()):
        read = "read_parquet" if path.suffix == ".parquet" else "read_json_auto"
        cursor = duckdb.execute(f"SELECT * FROM {read}('{path}')")
        names = [column[0] for column in cursor.description]
        found += [
            {**dict(zip(names, row, strict=True)), "split": path.name.partition("-")[0]} for row in cursor.fetchall()
        ]
    return found


def dropped(result):
    """Reason -> how many, over all steps."""
    return {reason: count for step in result.steps for reason, count in step.dropped.items() if count}
