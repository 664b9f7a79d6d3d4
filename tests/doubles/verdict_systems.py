"""Doubles of MLflow's and Phoenix's servers: the answers that real ones (3.17, 20.26) gave to the same requests."""

import json
from urllib.parse import parse_qs, unquote, urlsplit

from tests.doubles.http_server import HttpServer, reply


class SystemServer(HttpServer):
    """A server whose subclass answers ``answer(method, path, query, body)`` with plain data or ``(status, data)``."""

    protocol = "HTTP/1.0"

    def __init__(self, *faults):
        super().__init__()
        self.requests, self.heads = [], []
        self.faults = list(faults)

    def handle(self, request, body):
        data = json.loads(body) if body else None
        parts = urlsplit(request.path)
        path, query = unquote(parts.path), parse_qs(parts.query)
        self.requests.append((request.command, path, query, data))
        self.heads.append(dict(request.headers))
        headers = {}
        if self.faults:
            status, headers, said = self.faults.pop(0)
        else:
            given = self.answer(request.command, path, query, data)
            status, said = given if isinstance(given, tuple) else (200, given)
        raw = said.encode() if isinstance(said, str) else json.dumps(said).encode()
        reply(request, status, {"Content-Type": "application/json", **headers}, raw)

    def answer(self, method, path, query, body):
        return {}


class MLflowServer(SystemServer):
    """Traces of the experiment ``interop``, two a page."""

    keys, project = {}, "interop"

    def __init__(self, *faults, traces=3):
        super().__init__(*faults)
        self.traces = {f"tr-{number}": _trace(number) for number in range(traces)}

    def answer(self, method, path, query, body):
        match method, path.removeprefix("/api/3.0/mlflow/traces").split("/"):
            case "GET", _ if path.endswith("get-by-name"):
                known = query["experiment_name"] == ["interop"]
                return (
                    {"experiment": {"experiment_id": "7"}}
                    if known
                    else (404, {"error_code": "RESOURCE_DOES_NOT_EXIST"})
                )
            case "GET", _ if path.endswith("get-trace-artifact"):
                return {"spans": [_span(query["request_id"][0])]}
            case "POST", ["", "search"]:
                assert body["locations"][0]["mlflow_experiment"] == {"experiment_id": "7"}
                names, at = list(self.traces), int(body.get("page_token", 0))
                if "filter" in body:
                    bound = int(body["filter"].rpartition(" ")[2])
                    names = [name for name in names if _ms(self.traces[name]) >= bound]
                more = {"next_page_token": str(at + 2)} if at + 2 < len(names) else {}
                return {"traces": [self.traces[name] for name in names[at : at + 2]], **more}
            case "GET", ["", name] if name in self.traces:
                return {"trace": {"trace_info": self.traces[name]}}
            case "POST", ["", name, "assessments"]:
                made = {**body["assessment"], "assessment_id": f"a-{name}-{len(self.traces[name]['assessments'])}"}
                self.traces[name]["assessments"].append(made)
                return {"assessment": made}
            case "PATCH", ["", name, "assessments", which]:
                (one,) = (one for one in self.traces[name]["assessments"] if one["assessment_id"] == which)
                assert body["update_mask"] == "assessmentName,feedback,rationale,metadata"
                one.update({key: value for key, value in body["assessment"].items() if key != "source"})
                return {"assessment": one}
        return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": f"Trace with ID '{path}' not found."}


def _ms(trace):
    return 1795402800000 + int(trace["trace_id"][3:]) * 60000


def _trace(number):
    judged = {
        "assessment_id": f"a-{number}",
        "assessment_name": "correctness",
        "trace_id": f"tr-{number}",
        "source": {"source_type": "LLM_JUDGE", "source_id": "openai:/gpt-4o-mini"},
        "create_time": f"2026-11-23T03:0{number}:05Z",
        "last_update_time": f"2026-11-23T03:0{number}:05Z",
        "feedback": {"value": bool(number % 2)},
        "rationale": "because",
        "valid": True,
    }
    return {
        "trace_id": f"tr-{number}",
        "request_time": f"2026-11-23T03:0{number}:00Z",
        "state": "OK",
        "assessments": [judged],
    }


def _span(trace):
    number = trace[3:]
    texts = {"mlflow.spanInputs": json.dumps({"question": f"{number}+1?"}), "mlflow.spanOutputs": json.dumps("3")}
    return {"span_id": "s", "parent_span_id": None, "name": "answer", "attributes": texts}


class PhoenixServer(SystemServer):
    """Spans of the project ``default``, two a page, each with a judge's annotation."""

    keys, project = {}, "default"

    def __init__(self, *faults, spans=3):
        super().__init__(*faults)
        self.spans = [_phoenix_span(number) for number in range(1, spans + 1)]
        self.annotations = {}
        for span in self.spans:
            said = {"label": "correct", "score": 1.0, "explanation": "right"}
            self._annotate("correctness", span["context"]["span_id"], "gpt-4o-mini", {"result": said, "metadata": {}})

    def _annotate(self, name, span, identifier, given):
        key = (span, name, identifier)
        number = self.annotations[key]["id"] if key in self.annotations else f"id-{len(self.annotations)}"
        known = {"name": name, "span_id": span, "identifier": identifier, "annotator_kind": "LLM", "source": "API"}
        self.annotations[key] = {**known, **given, "id": number}

    def answer(self, method, path, query, body):
        match method, path.split("/")[2:]:
            case "GET", ["projects", "default", "spans"]:
                start = query.get("start_time", [""])[0]
                return self._page([one for one in self.spans if one["start_time"] >= start], query)
            case "GET", ["projects", "default", "span_annotations"]:
                wanted = [one for key, one in self.annotations.items() if key[0] in query["span_ids"]]
                if "identifier" in query:
                    wanted = [one for one in wanted if one["identifier"] in query["identifier"]]
                return self._page(wanted, query)
            case "POST", ["span_annotations"]:
                (one,) = body["data"]
                if one["span_id"] not in {span["context"]["span_id"] for span in self.spans}:
                    return 404, f"Spans with IDs {one['span_id']} do not exist."
                self._annotate(one["name"], one["span_id"], one["identifier"], one)
                return {"data": [{"id": "x"}]}
        return 404, {"detail": "Not Found"}

    @staticmethod
    def _page(rows, query):
        at = int(query.get("cursor", ["0"])[0])
        return {"data": rows[at : at + 2], "next_cursor": str(at + 2) if at + 2 < len(rows) else None}


def _phoenix_span(number):
    return {
        "context": {"trace_id": f"{number:032x}", "span_id": f"{number:016x}"},
        "name": "answer",
        "span_kind": "LLM",
        "start_time": f"2026-11-23T03:0{number}:00+00:00",
        "attributes": {"input.value": f"{number}+1?", "output.value": "3"},
    }
