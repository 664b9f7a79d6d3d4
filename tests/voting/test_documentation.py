import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "voting.md"


def test_the_examples_of_the_page_give_what_they_show():
    text = "\n".join("" if line.startswith("```") else line for line in PAGE.read_text("utf-8").splitlines())
    example = doctest.DocTestParser().get_doctest(text, {}, "voting.md", str(PAGE), 0)
    assert len(example.examples) > 15
    said = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    assert not failed, "".join(said)
