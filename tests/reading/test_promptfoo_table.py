import shutil
from pathlib import Path

from metajudge.reading import open_judgments
from tests.reading.interop_files import INTEROP

TABLE = INTEROP / "promptfoo" / "results.csv"


def test_the_same_run_beside_it_is_read_in_its_place_and_another_run_is_not(tmp_path: Path) -> None:
    copy = Path(shutil.copy(TABLE, tmp_path / "results.csv"))
    results = Path(shutil.copy(TABLE.with_suffix(".jsonl"), tmp_path / "results.jsonl"))
    source = open_judgments([copy])
    assert next(one.judge for one in source) == "openai:chat:gpt-4o-mini/llm-rubric"
    assert f"of the same run in {results}" in source.formats[str(copy)]
    results.write_text(results.read_text().replace("Venus is.", "Mercury is."))
    assert next(iter(open_judgments([copy]))).judge == "promptfoo/correctness"
