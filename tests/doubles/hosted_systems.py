"""Doubles of Langfuse, LangSmith and Argilla: answers as their SDKs (5.0, 0.15, 2.8) document and take them."""

import json
import re
import uuid

from tests.doubles.verdict_systems import SystemServer

PEOPLE = {"anna": True, "ben": False, "dan": True}
"""What people said of the first answer."""
SAID = ("The answer is right.", "The answer is wrong.")
AGENT = re.compile(r"(?=.*[a-zA-Z0-9])[a-zA-Z0-9\-_:./\s]{1,200}")


def name_of(kind, number):
    """An id that stays the same, as the systems use them."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}/{number}"))


def minute(number):
    return f"2026-11-23T03:0{number}:00"


class KeyedServer(SystemServer):
    """A server that wants a key in a header."""

    head, key = "", ""

    def answer(self, method, path, query, body):
        heads = {name.lower(): value for name, value in self.heads[-1].items()}
        if heads.get(self.head) != self.key:
            return 401, {"message": "Invalid credentials."}
        return self.found(method, path, query, body)


class LangfuseServer(KeyedServer):
    """Scores of three traces, two a page: on a trace, on a child observation, on a trace; people's where wanted."""

    head, key = "authorization", "Basic cGstbGYtMTpzay1sZi0x"
    keys, project = {"LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": "sk-lf-1"}, None

    def __init__(self, *faults, people=False):
        super().__init__(*faults)
        self.observations = [_observation(number, kind) for number in (1, 2, 3) for kind in ("root", "child")]
        self.scores = [_score(number) for number in (1, 2, 3)]
        if people:
            self.scores += [
                _score(1, person, "ANNOTATION") | {"authorUserId": person, "value": right, "comment": None}
                for person, right in PEOPLE.items()
            ]

    def found(self, method, path, query, body):
        match method, path.removeprefix("/api/public/"):
            case "GET", "projects":
                owner = {"id": "org", "name": "ours"}
                return {"data": [{"id": "p", "name": "interop", "organization": owner, "metadata": {}}]}
            case "GET", "v3/scores":
                assert int(query.get("limit", ["50"])[0]) <= 100
                given = {"details", "subject", "annotation"}
                groups = set(query["fields"][0].split(",")) if "fields" in query else set()
                if not groups <= given:
                    return 400, {"message": "Unknown field group"}
                wanted = [one for one in self.scores if one["timestamp"] >= query.get("fromTimestamp", [""])[0][:19]]
                if "id" in query:
                    wanted = [one for one in wanted if one["id"] in query["id"][0].split(",")]
                return self._page([_shown(one, groups) for one in wanted], query, limit=2)
            case "POST", "scores":
                return self._take(body)
            case "GET", "v2/observations":
                conditions = json.loads(query["filter"][0])
                columns = {"traceId": "string", "id": "string", "isRootObservation": "boolean"}
                assert all(columns[one["column"]] == one["type"] and one["operator"] == "=" for one in conditions)
                wanted = [
                    row for row in self.observations if all(row[one["column"]] == one["value"] for one in conditions)
                ]
                return self._page(wanted, query)
        return 404, {"message": "Not found"}

    def _take(self, body):
        assert isinstance(body, list)
        for given in body:
            assert isinstance(given["value"], str) is (given["dataType"] == "CATEGORICAL")
            kinds = {"traceId": "trace", "observationId": "observation", "sessionId": "session"}
            kind = "observationId" if "observationId" in given else "traceId"
            subject = {"kind": kinds[kind], "id": given[kind]}
            if kind == "observationId":
                subject["traceId"] = given["traceId"]
            now = f"2026-11-23T12:00:00.{len(self.requests):03d}Z"
            taken = {"timestamp": now, "comment": None, "environment": "default", **given}
            row = {name: taken[name] for name in ("id", "name", "value", "dataType", "comment", "metadata")}
            row |= {"timestamp": taken["timestamp"], "environment": taken["environment"], "subject": subject}
            same = [one for one in self.scores if (one["id"], one["timestamp"]) == (row["id"], row["timestamp"])]
            for one in same:
                self.scores.remove(one)
            self.scores.append(_times(row) | {"projectId": "p", "source": "API"})
        return 202, {"message": "Accepted"}

    @staticmethod
    def _page(rows, query, limit=100):
        at = int(query.get("cursor", ["0"])[0])
        more = {"cursor": str(at + limit)} if at + limit < len(rows) else {}
        return {"data": rows[at : at + limit], "meta": {"limit": limit, **more}}


def _shown(score, groups):
    """A score with the groups of fields that were asked for."""
    fields = {"details": ("comment", "configId", "metadata"), "subject": ("subject",), "annotation": ("authorUserId",)}
    left_out = {name for group, names in fields.items() if group not in groups for name in names}
    return {name: value for name, value in score.items() if name not in left_out}


def _times(row):
    return {**row, "createdAt": row["timestamp"], "updatedAt": row["timestamp"]}


def _score(number, who="judge", source="EVAL"):
    trace = f"{number:032x}"
    on_child = {"kind": "observation", "id": f"{number}c".zfill(16), "traceId": trace}
    return _times(
        {
            "id": name_of(f"score/{who}", number),
            "projectId": "p",
            "name": "correctness",
            "value": bool(number % 2),
            "dataType": "BOOLEAN",
            "source": source,
            "timestamp": f"{minute(number)}.000Z",
            "environment": "langfuse-llm-as-a-judge" if number == 3 else "production",
            "comment": SAID[not number % 2],
            "metadata": {},
            "subject": on_child if number == 2 else {"kind": "trace", "id": trace},
        }
    )


def _observation(number, kind):
    return {
        "id": f"{number}{kind[0]}".zfill(16),
        "traceId": f"{number:032x}",
        "projectId": "p",
        "startTime": f"{minute(number)}.000Z",
        "endTime": f"{minute(number)}.500Z",
        "type": "GENERATION" if kind == "child" else "SPAN",
        "name": "answer",
        "parentObservationId": f"{number}r".zfill(16) if kind == "child" else None,
        "isRootObservation": kind == "root",
        "input": json.dumps({"question": f"{number}+1?"}),
        "output": "3",
        "model": "answerer" if kind == "child" else None,
        "traceName": "chat",
        "tags": [],
    }


class LangSmithServer(KeyedServer):
    """Feedback on three runs of the project ``interop``; people's where wanted."""

    head, key = "x-api-key", "lsv2-1"
    keys, project = {"LANGSMITH_API_KEY": "lsv2-1"}, "interop"

    def __init__(self, *faults, people=False):
        super().__init__(*faults)
        self.session = name_of("session", 0)
        self.runs = {name_of("run", number): self._run(number) for number in (1, 2, 3)}
        given = [self._feedback(number) for number in (1, 2, 3)]
        if people:
            given += [
                self._feedback(1, who) | {"score": float(right), "feedback_source": {"type": "app", "user_name": who}}
                for who, right in PEOPLE.items()
            ]
        self.feedback = {one["id"]: one for one in given}

    def _run(self, number):
        return {
            "id": name_of("run", number),
            "name": "answer",
            "run_type": "chain",
            "start_time": minute(number),
            "end_time": minute(number),
            "inputs": {"question": f"{number}+1?"},
            "outputs": {"answer": "3"},
            "parent_run_id": None,
            "session_id": self.session,
            "trace_id": name_of("run", number),
            "dotted_order": "",
            "status": "success",
            "error": None,
        }

    def _feedback(self, number, who="judge"):
        return {
            "id": name_of(f"feedback/{who}", number),
            "run_id": name_of("run", number),
            "trace_id": name_of("run", number),
            "session_id": self.session,
            "key": "correctness",
            "score": float(number % 2),
            "value": None,
            "comment": SAID[not number % 2],
            "feedback_source": {"type": "model", "metadata": {}},
            "created_at": f"{minute(number)}+00:00",
            "modified_at": f"{minute(number)}+00:00",
        }

    def found(self, method, path, query, body):
        match method, path.strip("/").split("/"):
            case "GET", ["sessions"]:
                known = query["name"] == ["interop"]
                whole = {"id": self.session, "name": "interop", "tenant_id": self.session, "reference_dataset_id": None}
                return [whole] if known else []
            case "GET", ["feedback"]:
                start = query.get("min_created_at", [""])[0]
                wanted = [one for one in self.feedback.values() if one["created_at"] >= start]
                if "session" in query:
                    wanted = [one for one in wanted if one["session_id"] in query["session"]]
                if "run" in query:
                    wanted = [one for one in wanted if one["run_id"] in query["run"]]
                at, limit = int(query["offset"][0]), int(query["limit"][0])
                return wanted[at : at + limit]
            case "GET", ["feedback", name] if name in self.feedback:
                return self.feedback[name]
            case "POST", ["feedback"]:
                if body["run_id"] not in self.runs or body.get("session_id") != self.session:
                    return 404, {"detail": "Run not found"}
                assert body["id"] not in self.feedback
                assert body["extend_trace_retention"] is False
                at = {"created_at": "2026-11-23T12:00:00+00:00", "modified_at": "2026-11-23T12:00:00+00:00"}
                self.feedback[body["id"]] = {"session_id": self.session, "trace_id": None, **at, **body}
                return {"id": body["id"]}
            case "PATCH", ["feedback", name]:
                assert body.keys() <= {"score", "value", "correction", "comment"}
                self.feedback[name] = {**self.feedback[name], **body}
                return {}
            case "POST", ["runs", "query"]:
                wanted = [run for name, run in self.runs.items() if name in body.get("id", self.runs)]
                shown = [{name: run[name] for name in body.get("select", run) if name in run} for run in wanted]
                return {"runs": shown, "cursors": {"next": None}}
        return 404, {"detail": "Not found"}


class ArgillaServer(KeyedServer):
    """Three records of the dataset ``team/interop`` with an agent's suggestions; people's answers where wanted.

    The question ``metajudge_correctness`` takes texts, ``metajudge`` the labels keep, ask and discard.
    """

    head, key = "x-argilla-api-key", "argilla.apikey"
    keys, project = {"ARGILLA_API_KEY": "argilla.apikey"}, "team/interop"

    def __init__(self, *faults, people=False, questions=("correctness", "metajudge_correctness")):
        super().__init__(*faults)
        self.dataset, self.workspace = name_of("dataset", 0), name_of("workspace", 0)
        self.questions = [self._asked(name) for name in questions]
        self.records = {name_of("record", number): self._record(number) for number in (1, 2, 3)}
        if people:
            first = next(iter(self.records.values()))
            first["responses"] = [self._response(who, right, "submitted") for who, right in PEOPLE.items()] + [
                self._response("cara", True, "draft")
            ]

    def _asked(self, name):
        words = ("yes", "no") if name == "correctness" else ("keep", "ask", "discard")
        options = [{"value": word, "text": word, "description": None} for word in words]
        kind = {"type": "text", "use_markdown": False} if name == "metajudge_correctness" else None
        settings = kind or {"type": "label_selection", "options": options}
        known = {"id": name_of("question", name), "name": name, "title": name, "required": name == "correctness"}
        return {**known, "description": None, "settings": settings, "dataset_id": self.dataset}

    def _record(self, number):
        suggestion = {
            "id": name_of("suggestion", number),
            "question_id": name_of("question", "correctness"),
            "value": ("no", "yes")[number % 2],
            "score": 0.9,
            "agent": "openai/gpt-4o-mini",
            "type": "model",
        }
        times = {"inserted_at": minute(number), "updated_at": minute(number)}
        return {
            "id": name_of("record", number),
            "external_id": f"case-{number}",
            "dataset_id": self.dataset,
            "status": "pending",
            "fields": {"question": f"{number}+1?", "answer": "3"},
            "metadata": {},
            "suggestions": [suggestion | times],
            "responses": [],
            **times,
        }

    def _response(self, who, right, status):
        values = {"correctness": {"value": "yes" if right else "no"}}
        times = {"inserted_at": minute(4), "updated_at": minute(5)}
        return {
            "id": name_of("response", who),
            "values": values,
            "status": status,
            "user_id": name_of("u", who),
            **times,
        }

    def found(self, method, path, query, body):
        match method, path.removeprefix("/api/v1/").split("/"):
            case "GET", ["me", "datasets"]:
                known = {"id": self.dataset, "name": "interop", "status": "ready", "workspace_id": self.workspace}
                return {"items": [known | {"inserted_at": minute(0), "updated_at": minute(0)}]}
            case "GET", ["me", "workspaces"]:
                times = {"inserted_at": minute(0), "updated_at": minute(0)}
                return {"items": [{"id": self.workspace, "name": "team", **times}]}
            case "GET", ["datasets", self.dataset, "questions"]:
                return {"items": self.questions}
            case "GET", ["datasets", self.dataset, "records"]:
                at, limit = int(query["offset"][0]), int(query["limit"][0])
                assert query["include"] == ["suggestions", "responses"]
                return {"items": list(self.records.values())[at : at + limit]}
            case "POST", ["datasets", self.dataset, "records", "search"]:
                (one,) = body["filters"]["and"]
                assert one["type"] == "terms"
                assert one["scope"] == {"entity": "record", "property": "external_id"}
                items = [row for row in self.records.values() if row["external_id"] in one["values"]]
                return {"items": [{"record": row, "query_score": 1.0} for row in items], "total": len(items)}
            case "GET", ["records", name] if name in self.records:
                return self.records[name]
            case "PUT", ["records", name, "suggestions"] if name in self.records:
                return self._suggest(self.records[name], body)
        return 404, {"detail": "Not found"}

    def _suggest(self, record, body):
        (question,) = (one for one in self.questions if one["id"] == body["question_id"])
        options = [one["value"] for one in question["settings"].get("options", ())]
        fits = not options or body["value"] in options
        if not fits or not AGENT.fullmatch(body["agent"]) or not 0 <= (body["score"] or 0) <= 1:
            return 422, {"detail": "not valid"}
        others = [one for one in record["suggestions"] if one["question_id"] != body["question_id"]]
        times = {"inserted_at": minute(6), "updated_at": minute(6)}
        made = {"id": name_of("made", record["id"] + question["name"]), **body, **times}
        record["suggestions"] = [*others, made]
        return 200, made
