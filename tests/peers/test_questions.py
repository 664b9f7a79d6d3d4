import json

from metajudge.peers.questions import read_questions


class TestQuestions:
    def test_items_are_questions_with_their_category_as_domain(self, tmp_path):
        path = tmp_path / "items.jsonl"
        item = {"id": "i", "question": "?", "responses": {"A": "1"}, "category": "Math", "label": "A>B"}
        path.write_text(json.dumps(item) + "\n" + json.dumps(item) + "\n" + '{"id": "j", "question": "!"}\n')
        found, rejects = read_questions(path)
        assert [(one.id, one.domain) for one in found] == [("i", "Math"), ("j", None)]
        assert rejects == ()
        assert len(read_questions(path, 1)[0]) == 1

    def test_bad_lines_are_told(self, tmp_path):
        path = tmp_path / "q.jsonl"
        path.write_text(
            '{"id": "a", "question": "?"}\n{"id": "b"}\n{"id": 3, "question": "?"}\n{"id": "c", "text": "?"}\n'
        )
        found, rejects = read_questions(path)
        assert [one.id for one in found] == ["a"]
        assert [one.line for one in rejects] == [2, 3, 4]
