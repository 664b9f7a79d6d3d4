import importlib


def test_judged_markdown_acts_and_loads_nothing():
    text = importlib.import_module("metajudge.api.pages.judged_text")
    made = text.formatted(
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
    assert text.judged("<b>") == '<div class="text">&lt;b&gt;</div>'
    assert "(empty)" in text.judged(" ")
    assert "(missing)" in text.judged(None)
