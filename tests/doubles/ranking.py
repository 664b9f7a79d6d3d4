"""Judges that rank by a rule, whatever the labels, and the pieces a clash is made of."""

import json
import re

from metajudge.clashes.clash import Clash, Judge
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Item


def shown(request):
    """Label -> text of the responses in a request for a ranking."""
    return shown_in(request.messages[0].text)


def shown_in(prompt):
    """Label -> text of the responses in a ranking prompt."""
    found = {}
    for part in prompt.split("\n## Response ")[1:]:
        label, _, rest = part.partition("\n")
        fenced = re.search(r"⟦BEGIN response [0-9a-f]+⟧\n(.*?)\n⟦END response", rest, re.DOTALL)
        found[label.strip()] = fenced.group(1) if fenced else ""
    return found


def reply(request, order, *, score=4, reason=""):
    """A reply with this ranking (labels, or groups of tied ones); every score is ``score``."""
    groups = [group if isinstance(group, list) else [group] for group in order]
    properties = request.schema.schema["properties"]
    reasons = "analysis" if "analysis" in properties else "comparison"
    answer = {reasons: "They differ.", "ranking": " > ".join(" = ".join(group) for group in groups)}
    scored = properties.get("scores")
    if scored:
        entry = {"reason": reason, "score": score}
        answer["scores"] = {
            label: dict.fromkeys(row["properties"], entry) for label, row in scored["properties"].items()
        }
    return json.dumps(answer)


def ranks_by(preference, name="judge", **options):
    """A judge that ranks by a function of the text, the largest first; equal texts by what they are called."""

    def script(request):
        if "c5" in request.schema.schema["properties"]:
            return json.dumps(criteria_answer())
        texts = shown(request)
        return reply(request, sorted(texts, key=lambda label: preference(texts[label]), reverse=True), **options)

    return ScriptedModel(script, name=name)


def criteria_answer(*texts):
    """A reply of a model that names criteria."""
    texts = texts or ("truth: is it so?", "brevity: no padding?", "care")
    slots = {f"c{n}": None for n in range(1, 6)}
    for number, text in enumerate(texts, start=1):
        slots[f"c{number}"] = {"text": text, "weight": number}
    return slots


def says(text, name="judge"):
    """A judge that always says this."""
    return ScriptedModel(lambda _request: text, name=name)


def fails(error, name="judge"):
    """A judge that cannot be asked."""
    return ScriptedModel(lambda _request: error, name=name)


def panel(*models, **options):
    """A clash of these judges over given responses."""
    judges = tuple(Judge(f"j{n}", model) for n, model in enumerate(models, start=1))
    return Clash(judges=judges, **options)


def question(id="q1", **responses):
    """An item with these responses (two of them by default)."""
    return Item(id=id, question=f"What is it? ({id})", responses=responses or {"x": "long answer", "y": "short"})
