"""Items, and models that judge them by a rule."""

import json
import zlib

from metajudge.judging.judges import MARKS
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Item


def item(id="i1", *, first="four", second="five", **changes):
    """A small pair; ``first`` and ``second`` are the texts of responses A and B."""
    data = {"id": id, "question": f"What is 2 + 2? ({id})", "responses": {"A": first, "B": second}}
    return Item.model_validate({**data, **changes})


def verdict(mark="A>B", reasoning="Response A adds correctly."):
    """A reply as a pairwise judge gives it."""
    return json.dumps({"reasoning": reasoning, "verdict": mark})


def shown_texts(request):
    """The two responses of a pairwise prompt, in the order shown."""
    blocks = request.messages[0].text.split("⟦BEGIN response ")[1:]
    return tuple(block.split("⟧\n", 1)[1].split("\n⟦END", 1)[0] for block in blocks)


def prefers(text, *, strength=">", name="fond"):
    """A judge that prefers a response by its text, wherever it stands."""

    def script(request):
        first, second = shown_texts(request)
        if text not in (first, second) or first == second:
            return verdict("A=B")
        return verdict(f"A{strength}B" if first == text else f"B{strength}A")

    return ScriptedModel(script, name=name)


def arbitrary(name="arbitrary"):
    """A judge whose verdict depends on the whole prompt in no sensible way."""

    def script(request):
        text = request.system + "".join(message.text for message in request.messages)
        return verdict(MARKS[zlib.crc32(text.encode()) % len(MARKS)], reasoning=f"of {len(text)}")

    return ScriptedModel(script, name=name)
