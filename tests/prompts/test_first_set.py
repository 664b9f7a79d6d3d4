"""The first prompt set renders the bytes that it always rendered: stored replies are found by them.

``golden/first_set.json`` was written before the second set was added. It is never edited to make a test pass.
"""

import hashlib
import json
from pathlib import Path

from tests.prompts.renderings import RUBRICS, first_set, template_digests

GOLDEN = json.loads((Path(__file__).parent / "golden" / "first_set.json").read_text("utf-8"))


def test_every_prompt_of_the_first_set_has_the_bytes_it_had():
    found = {name: hashlib.sha256(text.encode()).hexdigest()[:32] for name, text in first_set().items()}
    found |= {f"rubric digest / {name}": rubric.digest for name, rubric in RUBRICS.items()}
    found |= {f"template / {name}": value for name, value in template_digests().items()}
    assert found.keys() == GOLDEN.keys()
    assert {name for name, value in found.items() if GOLDEN[name] != value} == set()
