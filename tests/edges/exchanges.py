"""One request and its answer, as plain data that is the same on every run."""

import html
import json
import re
from typing import Any

import httpx2

from tests.edges.recorded import numbers, steady
from tests.edges.serving import Matcher

HEADERS = ("location", "idempotency-replayed", "allow", "www-authenticate", "x-export-summary")
RANDOM = re.compile(r"\b[0-9a-f]{8,}\b|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|(?<=/runs/)[\w-]+")


CELL = re.compile(r'data-label="Seconds"[^>]*>[^<]*<')
LASTED = re.compile(r'"?\b\w*(?:seconds|_s)"?: [-+.\de]+|"metajudge_version": "[^"]*"')
TIMED = ("first_token_s", "median_s", "amends", "metajudge_version")
"""Fields of JSON that depend on times or the version, beside those of :data:`tests.edges.recorded.VOLATILE`."""


def same(found: Any) -> Any:
    """Plain data in which whatever differs from run to run is named by its kind."""
    if isinstance(found, dict):
        return {name: "*" if name in TIMED and one is not None else same(one) for name, one in steady(found).items()}
    return [same(one) for one in found] if isinstance(found, list) else steady(found)


class Visitor:
    """Sends requests and keeps what came of each, by name.

    Args:
        client: of the service.
        matcher: of the application's routes.
    """

    def __init__(self, client: httpx2.Client, matcher: Matcher, kept: dict[str, dict[str, Any]]) -> None:
        self.client, self._matcher, self.kept = client, matcher, kept
        self.token = ""

    def ask(self, name: str, method: str, path: str, **options: Any) -> httpx2.Response:
        """One exchange with JSON; or with whatever the answer is."""
        answer = self.client.request(method, path, **options)
        self._keep(name, method, answer, {"params": steady(options.get("params", {}))})
        return answer

    def see(self, name: str, path: str, **options: Any) -> httpx2.Response:
        """Opens a page."""
        answer = self.client.get(path, **options)
        if found := re.search(r'name="csrf" (?:content|value)="([^"]+)"', answer.text):
            self.token = found[1]
        self._keep(name, "GET", answer, {"params": steady(options.get("params", {}))})
        return answer

    def submit(self, name: str, path: str, form: dict[str, Any] | None = None, **options: Any) -> httpx2.Response:
        """Sends a form with the token of the page last seen; does not follow where it leads."""
        answer = self.client.post(path, data={"csrf": self.token, **(form or {})}, **options)
        self._keep(name, "POST", answer, {})
        return answer

    def _keep(self, name: str, method: str, answer: httpx2.Response, more: dict[str, Any]) -> None:
        assert name not in self.kept, f"two exchanges are named {name}"
        path = answer.request.url.path
        route = self._matcher(method, path)
        found: dict[str, Any] = {"route": route, **({} if route else {"path": path}), **more}
        found |= {"status": answer.status_code, "type": answer.headers.get("content-type", "").partition(";")[0]}
        found["headers"] = {one: self._header(one, answer.headers[one]) for one in HEADERS if one in answer.headers}
        self.kept[name] = found | self._content(answer, found["type"])

    def _header(self, name: str, value: str) -> Any:
        if name == "location":
            return self._matcher.page(value)
        return steady(json.loads(value)) if name == "x-export-summary" else value

    def _content(self, answer: httpx2.Response, kind: str) -> dict[str, Any]:
        if kind == "application/problem+json":
            return {"problem": problem(answer.json())}
        if kind == "application/json":
            return {"json": same(answer.json())}
        if kind == "application/x-ndjson":
            return {"lines": [same(json.loads(line)) for line in answer.text.splitlines()]}
        if kind == "text/event-stream":
            return {"events": events(answer.text)}
        if kind == "text/html":
            return {"numbers": numbers_of(answer.text), "links": self.links(answer.text)}
        return {}

    def links(self, text: str) -> list[str]:
        """Where links and forms of a page lead, each once."""
        found = re.findall(r"<a\b[^>]*?\bhref=\"([^\"]*)\"", text)
        found += re.findall(r"<(?:form|button)\b[^>]*?\b(?:form)?action=\"([^\"]*)\"", text)
        return sorted({self._matcher.page(html.unescape(one)) for one in found})


def problem(found: dict[str, Any]) -> dict[str, Any]:
    """A problem document; sentences by their numbers, so that words may improve."""
    said = {name: one for name, one in steady(found).items() if name not in ("detail", "errors", "instance")}
    said["detail"] = numbers_of(found.get("detail", ""))
    if "errors" in found:
        said["errors"] = [str(one).partition(":")[0] for one in found["errors"]]
    return said


def events(text: str) -> list[dict[str, Any]]:
    """Server-sent events in their order, without comments."""
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = [line.partition(": ")[::2] for line in block.splitlines() if not line.startswith(":")]
        if fields:
            one: dict[str, Any] = dict(fields)
            found.append({**one, "data": same(json.loads(one["data"]))} if "data" in one else one)
    return found


def numbers_of(text: str) -> list[str]:
    """The numbers of the visible text of a page, in their order; ids and durations are left out."""
    text = re.sub(r"(?s)<(script|style|head|textarea)\b.*?</\1>", " ", CELL.sub("<", text))
    text = html.unescape(re.sub(r"<[^>]*>", " ", text))
    return numbers(RANDOM.sub("ID", LASTED.sub(" ", text)))
