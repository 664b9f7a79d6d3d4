"""Holds what we send to Langfuse, LangSmith and Argilla, and what we read there, against the tools' own SDKs.

    python -m benchmarks.interop.check_sdks METAJUDGE [FIXTURES]

To be run in a checkout by a Python that has the SDKs (``pip install langfuse langsmith argilla``); METAJUDGE is the
command of an installation of ours, which may be another environment. The tools' servers are not run: the servers are
the doubles of our tests, on loopback. For each tool:

1. the SDK's own client reads everything from the double: the answers that we read are answers that the SDK takes;
2. our commands pull, vet, push twice, push without a ledger, and pull again;
3. every body that we sent is made into the SDK's model of that request, and may have no field that the model lacks;
4. the SDK's client reads what is there now, with our notes.

With FIXTURES, what the SDK's models gave of 1 and 4 is written there as ``TOOL-api/``; the tests of our readers use it.
"""

import inspect
import json
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

Rows = dict[str, list[dict[str, Any]]]


def main(command: str, fixtures: Path | None) -> None:
    """Checks the three, and prints what was done."""
    doubles: Any = import_module("tests.doubles.hosted_systems")
    checks: dict[str, Any] = {"langfuse": _Langfuse, "langsmith": _LangSmith, "argilla": _Argilla}
    for name, check in checks.items():
        double = {"langfuse": doubles.LangfuseServer, "langsmith": doubles.LangSmithServer}.get(
            name, doubles.ArgillaServer
        )
        print(f"{name} {version(name)}")
        with double(people=True) as server, tempfile.TemporaryDirectory() as work:
            client = check(server)
            before = client.rows()
            seen = len(server.requests)
            _trip(command, name, server, Path(work))
            sent = [request for request in server.requests[seen:] if request[3] is not None]
            for method, path, _, body in sent:
                client.valid(method, path, body)
            print(f"  {len(sent)} bodies of ours are {', '.join(sorted(client.models))}")
            after = client.rows()
        for part, rows in after.items():
            print(f"  read by the SDK: {len(before[part])} {part} before, {len(rows)} after; {client.ours(rows)} ours")
        if fixtures is not None:
            folder = fixtures / f"{name}-api"
            folder.mkdir(parents=True, exist_ok=True)
            for part, rows in after.items():
                text = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)
                (folder / f"{part}.jsonl").write_text(text)


def _trip(command: str, name: str, server: Any, work: Path) -> None:
    at = ["--url", server.url, *(["--project", server.project] if server.project else []), "--per-second", "1000"]
    pull, push = ["pull", name, *at, "--out", "pulled"], ["push", name, "assessments.jsonl", *at]
    for words in (
        pull,
        ["vet", "pulled", "--out", "assessments.jsonl"],
        [*push, "--dry-run"],
        push,
        push,
        [*push, "--ledger", "another.jsonl"],
        [*push, "--link", "https://vet.example/{judgment_id}"],
        pull,
        ["vet", "pulled", "--out", "again.jsonl"],
        ["audit", "pulled"],
    ):
        done = subprocess.run(
            [command, *words], cwd=work, env=dict(server.keys), capture_output=True, text=True, check=False
        )
        said = done.stdout.replace(server.url, "URL").splitlines() or done.stderr.splitlines()
        shown = " ".join(words).replace(server.url, "URL")
        print(f"  $ metajudge {shown}   (exit code {done.returncode})\n    {said[0] if said else ''}")
        secrets = [value for value in server.keys.values() if value in done.stdout + done.stderr]
        if done.returncode or secrets:
            raise SystemExit(f"failed: {done.stdout}{done.stderr}")
    if (work / "assessments.jsonl").read_bytes() != (work / "again.jsonl").read_bytes():
        raise SystemExit("vetted again, with our notes beside the verdicts, is not the same")


def _no_more(body: dict[str, Any], known: set[str], model: str) -> None:
    if left := body.keys() - known:
        raise SystemExit(f"{model} has no {', '.join(sorted(left))}")


class _Langfuse:
    """Langfuse's generated client; its models take fields that they do not know, so those are looked for."""

    def __init__(self, server: Any) -> None:
        api: Any = import_module("langfuse.api")
        keys = list(server.keys.values())
        self._client = api.LangfuseAPI(base_url=server.url, username=keys[0], password=keys[1])
        self._types: Any = import_module("langfuse.api.scores.types")
        self._parse: Any = import_module("langfuse.api.core.pydantic_utilities").parse_obj_as
        self.models: set[str] = set()

    def rows(self) -> Rows:
        self._client.projects.get()
        scores: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = self._client.scores.get_many(fields="details,subject,annotation", limit=100, cursor=cursor)
            scores += [self._plain(one) for one in page.data]
            cursor = page.meta.cursor
            if cursor is None:
                break
        roots = json.dumps([{"type": "boolean", "column": "isRootObservation", "operator": "=", "value": True}])
        inner = json.dumps([{"type": "boolean", "column": "isRootObservation", "operator": "=", "value": False}])
        found = [
            self._client.observations.get_many(fields="core,basic,io,model,trace_context", filter=one).data
            for one in (roots, inner)
        ]
        return {"scores": scores, "observations": [self._plain(one) for page in found for one in page]}

    def valid(self, method: str, path: str, body: Any) -> None:
        assert (method, path) == ("POST", "/api/public/scores")
        for given in body:
            made = self._parse(self._types.CreateScoreRequest, given)
            _no_more(made.model_extra or {}, set(), "CreateScoreRequest")
        self.models.add("list[CreateScoreRequest]")

    @staticmethod
    def _plain(model: Any) -> dict[str, Any]:
        if model.model_extra:
            raise SystemExit(f"{type(model).__name__} has no {', '.join(model.model_extra)}")
        data: dict[str, Any] = json.loads(model.model_dump_json(by_alias=True, exclude_none=True))
        return data

    @staticmethod
    def ours(rows: list[dict[str, Any]]) -> int:
        return sum("metajudge_key" in (row.get("metadata") or {}) for row in rows)


class _LangSmith:
    """LangSmith's client, with its pydantic models of runs and feedback."""

    def __init__(self, server: Any) -> None:
        langsmith: Any = import_module("langsmith")
        self._schemas: Any = import_module("langsmith.schemas")
        self._client = langsmith.Client(api_url=server.url, api_key=next(iter(server.keys.values())))
        self.models: set[str] = set()

    def rows(self) -> Rows:
        runs = list(self._client.list_runs(project_name="interop"))
        feedback = list(self._client.list_feedback(run_ids=[run.id for run in runs]))
        kept = {"id", "name", "run_type", "start_time", "end_time", "inputs", "outputs", "trace_id", "session_id"}
        return {
            "feedback": [json.loads(one.model_dump_json()) for one in feedback],
            "runs": [json.loads(run.model_dump_json(include=kept)) for run in runs],
        }

    def valid(self, method: str, path: str, body: Any) -> None:
        if (method, path) == ("POST", "/runs/query"):
            _no_more(body, {"session", "id", "select", "limit", "cursor"}, "list_runs")
            _no_more(dict.fromkeys(body["select"]), set(self._schemas.Run.model_fields), "Run")
            self.models.add("list_runs")
        elif method == "PATCH":
            _no_more(body, set(inspect.signature(self._client.update_feedback).parameters), "update_feedback")
            self.models.add("update_feedback")
        else:
            assert (method, path) == ("POST", "/feedback")
            made = self._schemas.FeedbackCreate.model_validate({"trace_id": None, **body})
            _no_more(body, set(type(made).model_fields), "FeedbackCreate")
            _no_more(body["feedback_source"], set(type(made.feedback_source).model_fields), "FeedbackSourceBase")
            self.models.add("FeedbackCreate")

    @staticmethod
    def ours(rows: list[dict[str, Any]]) -> int:
        return sum("metajudge_key" in ((row.get("feedback_source") or {}).get("metadata") or {}) for row in rows)


class _Argilla:
    """Argilla's API classes, and its records as it exports them."""

    def __init__(self, server: Any) -> None:
        api: Any = import_module("argilla._api._client")
        http: Any = import_module("argilla._api._http")
        self._models: Any = import_module("argilla._models")
        self._suggestion: Any = import_module("argilla._models._record._suggestion").SuggestionModel
        key = next(iter(server.keys.values()))
        self._api = api.ArgillaAPI(http.create_http_client(server.url, key, timeout=10, retries=0))
        self._dataset = server.dataset
        self.models: set[str] = set()

    def rows(self) -> Rows:
        assert [str(one.id) for one in self._api.datasets.list()] == [self._dataset]
        assert [one.name for one in self._api.workspaces.list()] == ["team"]
        self._names = {str(one.id): one.name for one in self._api.questions.list(self._dataset)}
        return {"records": [self._plain(one) for one in self._api.records.list(self._dataset)]}

    def _plain(self, model: Any) -> dict[str, Any]:
        """A record through ``Record.to_dict()``, which needs the questions' names."""
        rg: Any = import_module("argilla")
        suggestions = [
            rg.Suggestion(self._names[str(one.question_id)], one.value, score=one.score, agent=one.agent)
            for one in model.suggestions
        ]
        responses = [
            rg.Response(name, said["value"], user_id=one.user_id)
            for one in model.responses
            if one.status == "submitted"
            for name, said in one.values.items()
        ]
        record = rg.Record(id=model.external_id, fields=model.fields, suggestions=suggestions, responses=responses)
        data: dict[str, Any] = json.loads(json.dumps(record.to_dict(), default=str))
        return data

    def valid(self, method: str, path: str, body: Any) -> None:
        if path.endswith("/search"):
            self._models.SearchQueryModel.model_validate(body)
            self.models.add("SearchQueryModel")
            return
        assert method == "PUT"
        self._suggestion.model_validate(body)
        _no_more(body, set(self._suggestion.model_fields), "SuggestionModel")
        self.models.add("SuggestionModel")

    @staticmethod
    def ours(rows: list[dict[str, Any]]) -> int:
        agents = [str(one["agent"]) for row in rows for one in row["suggestions"].values()]
        return sum(agent.startswith("metajudge:") for agent in agents)


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
