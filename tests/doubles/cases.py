"""Cases, and judges that score them by a table."""

import json

from metajudge.cases.case import Case
from metajudge.cases.judge import CaseJudge
from metajudge.providers.scripted import ScriptedModel

RELEVANCE = {
    "source_relevance": (9, 0.95),
    "company_data_alignment": (8, 0.88),
    "logical_coherence": (9, 0.92),
    "traceability": (10, 0.98),
}
"""Scores and confidences of the worked example's first stage."""

ANALYSIS = {
    "source_relevance": (8, 0.85),
    "company_data_alignment": (9, 0.90),
    "logical_coherence": (8, 0.87),
    "completeness": (7, 0.82),
    "recommendation_appropriateness": (9, 0.91),
    "traceability": (9, 0.89),
    "strategic_alignment": (8, 0.86),
    "actionability_timeline": (9, 0.90),
}
"""Scores and confidences of the worked example's second stage."""


def flood(id="flood-1", *, type="climate", **changes):
    """A case with both stages of the shipped policy."""
    data = {
        "id": id,
        "type": type,
        "stages": [
            {
                "name": "relevance_check",
                "context": "A flood warning was issued for the north bank.",
                "output": f"The plant stands on the north bank, so the warning concerns it. ({id})",
            },
            {
                "name": "risk_analysis",
                "context": {"stock_days": 14},
                "output": "Stock lasts 14 days and the flood 21, so switch to the second supplier within 48 hours.",
            },
        ],
    }
    return Case.model_validate({**data, **changes})


def reply(scores, *, evidence=(), weaknesses=(), **entries):
    """A judge's reply: criterion -> (score, confidence); ``entries`` replace whole criteria."""
    answer = {
        name: {
            "comment": f"About {name}.",
            "evidence": list(evidence),
            "weaknesses": list(weaknesses),
            "score": score,
            "confidence": confidence,
        }
        for name, (score, confidence) in scores.items()
    }
    return json.dumps({**answer, **entries})


def scored(relevance=RELEVANCE, analysis=ANALYSIS, *, name="judge", **options):
    """A judge that gives each stage its table of scores."""
    return CaseJudge(
        name, ScriptedModel(lambda request: reply(_table(request, relevance, analysis), **options), name=name)
    )


def by_stage(body, relevance=RELEVANCE, analysis=ANALYSIS):
    """An answer for the test server: which stage is asked for shows in the schema's criteria."""
    return reply(relevance if "completeness" not in json.dumps(body["messages"][0]) else analysis)


def _table(request, relevance, analysis):
    return analysis if "completeness" in request.system else relevance
