"""An audit made by hand: two judges of grades, one of them with findings, people who labelled some items twice."""

from metajudge.audit.card import (
    AuditReport,
    Ceiling,
    Check,
    ClassFigures,
    Confusion,
    Contested,
    CorrectedRate,
    Disagreement,
    Figure,
    Group,
    Holdings,
    JudgeCard,
    JudgePair,
    Jury,
    Kappa,
    KindHoldings,
    NextStep,
    Panel,
    Support,
)

KEY = "sk-" + "a1B2" * 8


def figure(estimate, low=None, high=None, n=200, questions=100, method="share of verdicts; Wilson"):
    interval = None if low is None else (low, high)
    return Figure(estimate=estimate, interval=interval, n=n, questions=questions, method=method)


def check(name="drift", status="none", **changes):
    given = {
        "title": f"{name} in words",
        "estimate": 0.02,
        "interval": (-0.03, 0.07),
        "p_value": 0.4,
        "adjusted_p": 1.0,
        "smallest_effect": 0.06,
        "relevant_effect": 0.1,
        "labels_needed": 90,
        "n": 200,
        "questions": 100,
        "reference": "labels",
        "unit": "difference of error rates",
        "test": "sign flip by question",
        "sentence": f"What was seen of {name}.",
    }
    return Check(name=name, status=status, **{**given, **changes})


def card(judge="owl", **changes):
    given = {
        "kind": "grade",
        "n": 204,
        "n_no_verdict": 4,
        "n_labelled": 150,
        "questions": 100,
        "accuracy": figure(0.813, 0.751, 0.862),
        "kappa": Kappa(
            estimate=0.61, interval=(0.5, 0.7), n=150, questions=90, method="quadratic", name="Cohen's kappa, weighted"
        ),
        "ceiling_gap": figure(-0.067, -0.12, -0.01),
        "classes": (
            ClassFigures(
                value="pass",
                sensitivity=figure(0.9, 0.8, 0.95),
                specificity=figure(0.7, 0.6, 0.8),
                n_labelled=80,
                n_given=90,
            ),
        ),
        "confusion": Confusion(classes=("1", "2"), counts=((40, 10), (5, 95)), omitted=3),
        "peer_agreement": figure(0.75, 0.7, 0.8),
        "flips": None,
        "first_place": None,
        "repeats": figure(0.9, 0.85, 0.95, n=40),
        "prompt_agreement": None,
        "mean": figure(1.6, 1.5, 1.7, method="mean grade; jackknife"),
        "label_mean": figure(1.7, 1.6, 1.8, method="mean grade; jackknife"),
        "scale_use": {"1": 60, "2": 140},
        "checks": (
            check("drift", "finding", estimate=-0.24, interval=(-0.35, -0.13), adjusted_p=0.001),
            check("length", "none"),
            check("versions", "underpowered", smallest_effect=0.21, labels_needed=700),
            check("copy", "underpowered", estimate=None, interval=None, smallest_effect=None, labels_needed=None, n=3),
        ),
        "over_time": (
            Group(name="2026-01-05", accuracy=figure(0.9, 0.8, 0.95)),
            Group(name="2026-02-05", accuracy=figure(0.66, 0.5, 0.7), finding=True),
        ),
        "versions": (),
        "categories": (Group(name="maths", accuracy=figure(0.8, 0.7, 0.9), difference=figure(-0.01, -0.1, 0.1)),),
        "contested": Contested(
            disagreed=figure(0.4, 0.3, 0.5), agreed=figure(0.1, 0.05, 0.15), difference=figure(0.3, 0.2, 0.4)
        ),
        "rates": (
            CorrectedRate(
                of="share that passes",
                judge=judge,
                n=200,
                n_labelled=150,
                naive=figure(0.75, 0.7, 0.8),
                labels_only=figure(0.6, 0.5, 0.7),
                rogan_gladen=figure(0.62, 0.53, 0.71),
                ppi=figure(0.61, 0.54, 0.68),
                weight=0.7,
            ),
        ),
        "worst": (
            Disagreement(
                judgment="j1",
                item="i1",
                verdict=2,
                label=1,
                people=3,
                unanimous=True,
                distance=1.0,
                question="What is two and two?",
                response=f"Five. My key is {KEY}.",
                rationale="It is <b>right</b>.",
            ),
        ),
    }
    return JudgeCard(judge=judge, **{**given, **changes})


def unlabelled(judge="wren"):
    none = ("accuracy", "kappa", "ceiling_gap", "confusion", "repeats", "mean", "label_mean", "contested")
    empty = ("classes", "checks", "over_time", "categories", "rates", "worst")
    return card(judge, n_labelled=0, **dict.fromkeys(none), **dict.fromkeys(empty, ()))


def jury():
    owl = Panel(judges=("owl",), accuracy=figure(0.81, 0.75, 0.86), difference=figure(-0.01, -0.015, 0.01), undecided=0)
    both = Panel(judges=("owl", "wren"), accuracy=figure(0.82, 0.76, 0.87), difference=None, undecided=4)
    return Jury(
        kind="grade",
        judges=("owl", "wren"),
        reference="labels",
        effective=figure(1.3, 1.1, 1.6),
        pairs=(
            JudgePair(
                first="owl", second="wren", agreement=figure(0.8, 0.7, 0.9), error_correlation=figure(0.6, 0.4, 0.8)
            ),
        ),
        drop=(("wren", "it errs where owl errs"),),
        panels=(owl, both),
        cheapest=owl,
        sentence="One judge does the work of both.",
    )


def holdings(**changes):
    given = {
        "judgments": 408,
        "no_verdict": 8,
        "duplicates": 1,
        "items": 200,
        "questions": 100,
        "judges": {"owl": 204, "wren": 204},
        "kinds": {
            "grade": KindHoldings(verdicts=400, labelled=150, right="equal", right_default=True, values=("1", "2"))
        },
        "labelled_items": 80,
        "labels": 160,
        "undecided_labels": 2,
        "annotators": 3,
        "several_labels": 60,
        "both_orders": 0,
        "repeats": 40,
        "with_models": 0,
        "with_categories": 200,
        "with_time": 408,
        "first_time": "2026-01-05T00:00:00",
        "last_time": "2026-03-01T00:00:00",
        "versions": {"owl": ("1", "2")},
    }
    return Holdings(**{**given, **changes})


def report(**changes):
    given = {
        "holdings": holdings(),
        "supports": (
            Support(analysis="agreement with people", possible=True, why="80 items have a label"),
            Support(
                analysis="own_family",
                possible=False,
                why="the models that wrote the responses are not named",
                add="a column with the model of each response (--map models.A=COLUMN)",
            ),
        ),
        "level": 0.05,
        "judges": (card(), unlabelled()),
        "ceilings": (Ceiling(kind="grade", agreement=figure(0.88, 0.8, 0.93, n=160), annotators=3),),
        "juries": (jury(),),
        "next_steps": (
            NextStep(goal="add labels", reason="the check of versions needs 700 labels", n=700),
            NextStep(goal="calibrate", reason="150 labels are enough to fit"),
            NextStep(goal="guarantee", reason="a promise on what is kept"),
            NextStep(goal="vet", reason="keep what can be trusted"),
            NextStep(goal="drop a judge", reason="wren errs where owl errs", judge="wren"),
        ),
        "notices": ("One judgment was left out.",),
    }
    return AuditReport(**{**given, **changes})
