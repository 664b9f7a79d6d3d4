"""A server of the Model Context Protocol: assistants vet verdicts, audit and rank files, and look up assessments.

Started by ``metajudge mcp``, it speaks over standard input and output, as assistants start it. What it may do is what
the person who started it may do: it asks the meta-judges of the command line, or a running ``metajudge serve`` with
that person's key. Files are read below one folder only: what an assistant asks for may come from a text that it read.

Needs the extra: ``pip install '.[mcp]'`` in a checkout of metajudge.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import orjson
from pydantic import Field

from metajudge.adapters.vetting import Vetting
from metajudge.auditing import audit_judgments
from metajudge.client import AsyncClient
from metajudge.concurrency import off_the_loop
from metajudge.errors import ConfigurationError, InputError, MetajudgeError
from metajudge.installation import __version__, install_command
from metajudge.reading import open_judgments
from metajudge.reading.rankings import read_ranking_file
from metajudge.reading.reasons import as_judgment
from metajudge.rubric import list_rubrics, load_rubric
from metajudge.settings import Settings
from metajudge.store import open_store
from metajudge.types.location import store_location
from metajudge.voting.rank import rank

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ResourceError, ToolError
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise ConfigurationError(f"`metajudge mcp` needs the SDK of MCP ({error}): {install_command('mcp')}") from error

INSTRUCTIONS = (
    "metajudge says which verdicts of LLM judges to trust. vet_verdict scores one finished verdict and says keep, ask "
    "or discard; audit_file compares a file's judges with people and each other; rank_file ranks the candidates of "
    "rankings; show_assessment looks up what is stored. A score without a calibration is no probability of being right."
)
LARGEST_ANSWER = 200_000
"""Characters of an answer at most: it becomes part of what a model reads."""

Judgment = Annotated[
    dict[str, Any],
    Field(
        description="One verdict: {question, responses: [text, text], judge, verdict, rationale}. verdict is A, B, A>B "
        "or tie for a pair, a number for a grade, a word for a category. Or a full record with id and item."
    ),
]
FileName = Annotated[str, Field(description="A file, relative to the folder that the server was started for.")]


def build_server(
    vetting: Vetting, folder: Path, *, store: str | None = None, service: str | None = None
) -> "MCPServer[Any]":
    """The server with its tools and resources.

    Args:
        vetting: what vets: meta-judges in this process, or a service.
        folder: files are read below it alone.
        store: where assessments are looked up.
        service: URL of a service, in place of a store.
    """
    tools = _Tools(vetting, folder.resolve(), store, service)
    server: MCPServer[Any] = MCPServer(name="metajudge", version=__version__, instructions=INSTRUCTIONS)
    for tool in (tools.vet_verdict, tools.audit_file, tools.rank_file, tools.show_assessment):
        server.add_tool(tool, structured_output=False)
    server.resource("rubric://{name}", description="A built-in rubric.", mime_type="application/json")(_rubric)
    server.resource("rubrics://all", description="The names of the built-in rubrics.")(_rubrics)
    server.resource(
        "card://{+file}",
        description="The audit of a file's judges, as audit_file gives it.",
        mime_type="application/json",
    )(tools.card)
    return server


class _Tools:
    """The tools; their docstrings are what assistants read."""

    def __init__(self, vetting: Vetting, folder: Path, store: str | None, service: str | None) -> None:
        self._vetting = vetting
        self._folder = folder
        self._store = store
        self._service = service

    async def vet_verdict(self, judgment: Judgment) -> str:
        """Vets one verdict of an LLM judge: keep it, ask a person, or discard it, with the reason and the scores."""
        with _told():
            assessment = await self._vetting.vet(as_judgment(judgment))
        return _json(assessment.model_dump(mode="json", exclude_none=True))

    async def audit_file(self, file: FileName) -> str:
        """Audits the judges of a file of verdicts: agreement with people's labels, biases, how they differ."""
        with _told():
            path = self._path(file)
            return await off_the_loop(lambda: _json(_audit(path)), path.stat().st_size)

    async def rank_file(self, file: FileName, rule: str = "kemeny") -> str:
        """Ranks the candidates of a file of rankings, or the models of a file of verdicts; ties are kept."""
        with _told():
            path = self._path(file)
            return await off_the_loop(lambda: _json(_rank(path, rule)), path.stat().st_size)

    async def show_assessment(self, judgment_id: str) -> str:
        """What is stored of a judgment: the verdict, its assessment, who decided what and when."""
        with _told():
            return _json(await self._stored(judgment_id))

    def card(self, file: str) -> str:
        """The audit of a file, as a resource."""
        with _told(ResourceError):
            return _json(_audit(self._path(file)))

    async def _stored(self, judgment_id: str) -> Any:
        if self._service is not None:
            async with AsyncClient(self._service, Settings.load().service_key) as client:
                return (await client.request("GET", f"/v1/assessments/{quote(judgment_id, safe='')}")).json()
        opened = await open_store(Settings.load().store if self._store is None else store_location(self._store))
        try:
            found = await opened.show(judgment_id)
        finally:
            await opened.close()
        if found is None:
            raise InputError(f"the store has nothing under {judgment_id!r}")
        return found

    def _path(self, name: str) -> Path:
        """A file below the folder. Raises InputError: a file elsewhere, by whatever way it is named."""
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder):
            raise InputError(f"{name!r} is not below the folder that the server was started for")
        if not path.exists():
            raise InputError(f"there is no {name!r} in the folder that the server was started for")
        return path


@contextmanager
def _told(error: type[Exception] = ToolError) -> Iterator[None]:
    """Our errors are answers that an assistant can act on."""
    try:
        yield
    except MetajudgeError as failure:
        raise error(str(failure)) from failure


def _json(data: object) -> str:
    """Plain data as text. Raises InputError: more than an assistant should read."""
    text = orjson.dumps(data, default=str).decode()
    if len(text) > LARGEST_ANSWER:
        raise InputError(f"the answer has {len(text):,} characters, more than {LARGEST_ANSWER:,}: use the command line")
    return text


def _audit(path: Path) -> dict[str, Any]:
    return audit_judgments(open_judgments([path])).model_dump(mode="json", exclude_none=True)


def _rank(path: Path, rule: str) -> Any:
    file = read_ranking_file(path)
    found = rank(
        [ballot.ranking for ballot in file.ballots],
        rule=rule,
        candidates=file.candidates,
        weights=[ballot.weight for ballot in file.ballots],
        questions=len({ballot.question for ballot in file.ballots} - {None}),
    )
    return found.to_json()


def _rubric(name: str) -> str:
    with _told(ResourceError):
        if name not in {rubric.name for rubric in list_rubrics()}:
            raise InputError(f"there is no built-in rubric {name!r}: rubrics://all has their names")
        return _json(load_rubric(name).model_dump(mode="json", exclude_none=True))


def _rubrics() -> str:
    return _json([rubric.name for rubric in list_rubrics()])
