"""What six models of different quality say to a fake server: answers, and rankings of answers by a hidden quality."""

import json
import random
import re

from tests.doubles.llm_server import requested_schema
from tests.peers.elections import NAMES

QUALITY = {name: 10 * (len(NAMES) - place) for place, name in enumerate(NAMES)}
"""How good a model's answers are; the first name is best."""

_RESPONSE = re.compile(r"## Response (A\d+)\n\n⟦BEGIN response [^⟧]*⟧\n(.*?)\n⟦END", re.DOTALL)


def said(body):
    """The last thing a user said to the model."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def is_ranking(body):
    return requested_schema(body) is not None


def answer(body, selfish=("fox",), noise=18.0):
    """A model's reply: its answer, or its ranking of the answers it is shown."""
    model = body["model"]
    text = said(body)
    if not is_ranking(body):
        return f"As {model} I answer: quality {QUALITY[model]} by hand {NAMES.index(model)}."
    found = _RESPONSE.findall(text)
    source = random.Random(f"{model} {sorted(said for _, said in found)} {text.split('⟧', 2)[1][:200]}")

    def worth(response):
        quality, hand = re.search(r"quality (\d+) by hand (\d)", response).groups()
        if NAMES[int(hand)] == model and model in selfish:
            return 1000.0
        return float(quality) + source.gauss(0, noise)

    worths = {label: worth(response) for label, response in sorted(found, key=lambda pair: pair[1])}
    order = sorted(worths, key=worths.get, reverse=True)
    return json.dumps(_filled(requested_schema(body), order))


def _filled(schema, order):
    reply = {}
    for name, part in schema["properties"].items():
        if name == "ranking":
            reply[name] = " > ".join(order) if part["type"] == "string" else order
        elif name == "scores":
            reply[name] = {
                label: {key: {"reason": "", "score": 4} for key in scores["properties"]}
                for label, scores in part["properties"].items()
            }
        else:
            reply[name] = f"{order[0]} is best."
    return reply
