"""What reviewers read is what was written."""

import gzip
import html
import json
import os
import re
import time
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

DATA = os.environ.get("METAJUDGE_DATA")
CODE = "Here it is:\n\ndef best(a, b):\n    if a > b:\n        return a\n    return b\n\nInput\n1 2\n3 4\n"

text_module = import_module("metajudge.api.pages.judged_text")


def shown(markup):
    """The text of a page's markup, as a browser has it."""
    return html.unescape(re.sub(r"<[^>]*>", "", str(markup)))


def code_blocks(markup):
    return [html.unescape(block) for block in re.findall(r"<pre><code[^>]*>(.*?)</code></pre>", str(markup), re.DOTALL)]


def recorded():
    with gzip.open(Path(DATA or "", "judgebench", "pairs.jsonl.gz"), "rt") as lines:
        return [json.loads(line) for line in lines]


class TestAsWritten:
    @given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300))
    def test_no_character_is_lost_or_changed(self, text):
        assert shown(text_module.written(text)) == text

    @given(
        st.lists(
            st.sampled_from(
                ["```", "~~~py", "def f(x):", "    return x", "", "$$", "\\[", "x = 1", "Prose.", "`a`", "$5"]
            )
        )
    )
    def test_nor_in_code_and_formulas(self, lines):
        text = "\n".join(lines)
        assert shown(text_module.written(text)) == text
        assert "".join(part.text for part in text_module.parts(text)) == text

    def test_code_without_fences_is_recognised_with_its_indentation(self):
        made = text_module.written(CODE)
        block = re.search(r'<span class="code">(.*?)</span>', str(made), re.DOTALL)
        assert html.unescape(block[1]).startswith("def best(a, b):\n    if a > b:\n        return a\n")

    @pytest.mark.parametrize(
        "formula", [r"\(a_b\)", "$x_1^2$", "$$y$$", "\\[\n\\frac{a}{b}\n\\]\n", "\\begin{align}\na\n\\end{align}\n"]
    )
    def test_latex_is_recognised(self, formula):
        assert f'<span class="math">{formula}</span>' in str(text_module.written(formula))

    @pytest.mark.parametrize(
        "prose", ["It costs $5 and $6.", "I return home. Then I sleep.", "Let x be 3; then go on.\nWe import tea."]
    )
    def test_prose_is_not_taken_for_code_or_formulas(self, prose):
        assert str(text_module.written(prose)) == f'<div class="text">{prose}</div>'

    @pytest.mark.skipif(DATA is None, reason="METAJUDGE_DATA names no folder with recorded judgments")
    def test_every_recorded_question_and_response_is_shown_as_it_is(self):
        texts = [row[name] for row in recorded() for name in ("question", "response_a", "response_b")]
        assert len(texts) > 1_000
        assert [text for text in texts if shown(text_module.judged(text)) != text] == []

    @pytest.mark.parametrize(
        "line", ["```\n", "\\(", "$a", "`a", "x = 1\n\n", "$$\n", "\\[\n", "def f(x):\n", "  x\n", "\\begin{a\n"]
    )
    def test_hostile_texts_take_time_in_proportion_to_their_length(self, line):
        started = time.process_time()
        text_module.judged(line * (256_000 // len(line)))
        text_module.judged(line * (text_module.LONGEST_MARKED // len(line)))
        assert time.process_time() - started < 2


class TestFormatted:
    def test_code_without_fences_keeps_its_lines_and_indentation(self):
        (block,) = code_blocks(text_module.formatted(CODE))
        assert block.startswith("def best(a, b):\n    if a > b:\n        return a\n    return b\n")

    @pytest.mark.parametrize(
        "source",
        [
            r"\(\frac{a}{b}\)",
            r"$\frac{a}{b}$",
            "$$\n\\frac{a}{b}\n$$",
            "Then\n\\[\n\\frac{a}{b}\n\\]\nso",
            "\\begin{align}\n\\frac{a}{b}\n\\end{align}",
        ],
    )
    def test_latex_becomes_a_formula(self, source):
        assert "<mfrac>" in str(text_module.formatted(source))

    def test_latex_that_is_not_understood_stays_as_written(self):
        assert "{" * 50 in shown(text_module.formatted(f"${'{' * 50}$"))
        assert r"\left(" in shown(text_module.formatted(r"$a \left( b$"))

    def test_formulas_act_and_load_nothing(self):
        made = str(
            text_module.formatted(
                r"$\href{javascript:x()}{a}$ $\includegraphics{http://e.example/p.png}$ $\text{<script>x()</script>}$ $\style{color:red}{b}$"
            )
        )
        assert not re.search(r"<(script|img|a|svg|style|mglyph|annotation)\b|href=|src=|style=", made)


def test_judged_markdown_acts_and_loads_nothing():
    made = text_module.formatted(
        "# Head\n<script>x()</script> **bold** [a](javascript:x) [b](https://e.example) [c](/reviews) "
        "![p](http://e.example/p.png)\n\n<svg onload=x>\n\n| a |\n|---|\n| <b onclick=x>1</b> |\n"
    )
    assert "<script" not in made
    assert "<svg" not in made
    assert "<img" not in made
    assert "onclick=x&gt;" in made
    assert "<b " not in made
    assert 'href="javascript' not in made
    assert 'href="/reviews"' not in made
    assert "<h1" not in made
    assert "<strong>bold</strong>" in made
    assert 'rel="noopener noreferrer nofollow"' in made
    assert text_module.judged("<b>") == '<div class="text">&lt;b&gt;</div>'
    assert "(empty)" in text_module.judged(" ")
    assert "(missing)" in text_module.judged(None)
