from metajudge.reading import open_judgments
from tests.reading.conftest import Write


def test_pointwise_scores_and_rubrics_beside_it_are_no_games(write: Write) -> None:
    pair = {"item_id": "p1", "question": "2 + 2?", "response_a": "4", "response_b": "5", "label": "A>B"}
    game = {"item_id": "p1", "judge_model": "o1", "judge_prompt": "arena_hard", "order": "AB", "decision": "A>B"}
    write("jb/pairs.jsonl.gz", pair, packed=True)
    write("jb/judgments.jsonl.gz", {**game, "verdict": "A>>B", "judgment_text": "So: [[A>>B]]"}, packed=True)
    write("jb/judgments_pointwise.jsonl", {**game, "score_a": 1, "score_b": 0, "text_a": "", "text_b": ""})
    path = write("jb/rubrics.jsonl", {"rubric_id": "r", "item_id": "p1", "rubric": "text"})
    source = open_judgments([path.parent])
    assert [judgment.id for judgment in source] == ["p1/o1/AB"]
    assert source.rejects == 0
    assert source.formats == {str(path.parent): "JudgeBench folder"}
