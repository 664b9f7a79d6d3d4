"""No pattern may take a time that grows faster than the text: an untrusted text could then stop a whole process.

Every pattern of the packages is found, by import and in the source, and is given texts that are made from its own
parts: what stands before a repetition, then the repetition's own characters many times, then a character that makes
the match fail. CPU time is measured while the texts grow, so that a quadratic pattern fails within a second or two.
"""

import ast
import importlib
import pkgutil
import re
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import metajudge
from metajudge.agents import ReplyProblemsError
from metajudge.agents.mending import mend
from metajudge.cases.judge import is_quoted
from metajudge.errors import ConfigurationError
from metajudge.evidence.text_verdict import read_text_verdict
from metajudge.judging.identity import hide_identities
from metajudge.judging.judges import SCHEMA, parse_pairwise_reply, stated_marks
from metajudge.prompts.fences import _neutralised
from metajudge.providers.http_errors import says
from metajudge.reading.vocabulary import UnknownValueError, Vocabulary
from metajudge.reviewables.labels import in_reviewers_words

judged_text = importlib.import_module("metajudge.api.pages.judged_text")

pytestmark = pytest.mark.slow

ROOT = Path(metajudge.__file__).parent.parent
PACKAGES = ("metajudge", "metajudge.api", "metajudge.benchmarks")
FOLDERS = ("metajudge", "api", "benchmarks")
METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "split")
SIZES = (1 << 10, 1 << 12, 1 << 14, 1 << 16)
FULL = 1 << 17
CPU_S = 1.5
"""The most CPU seconds for 128 KB: linear patterns take a hundredth of it, quadratic ones minutes."""
WORK_CPU_S = 4.0
"""The same for work that is many patterns: it was 1.5 s at most on a slow machine, and minutes where it was quadratic."""
TEXTS = 12
"""How many texts a pattern is given at most; twice as many where they grow to FULL."""
ENDS = ("", "\0", "a\na")

OWN_MESSAGES = {"metajudge.store.database._HOLDER", "metajudge/store/postgres.py::store_error"}
"""Patterns that read the error messages of our own store, and no text from outside."""

BOUNDED = {"metajudge.evidence.text_verdict._LEAD": 80, "metajudge.providers.http_errors._TAGS": 4_000}
"""Patterns that are not linear, with the most characters that their callers give them."""

MADE = {
    "api/authorization.py": "paths of our own routes",
    "metajudge/cases/quotes.py": "WORK: is_quoted; classes of characters",
    "metajudge/clashes/sheet.py": "one letter and digits, against candidates' ids",
    "metajudge/clashes/setup.py": "a name on the command line, or in a file, against the pattern of ids",
    "metajudge/evidence/text_verdict.py": "WORK: read_text_verdict",
    "metajudge/judging/identity.py": "WORK: hide_identities",
    "metajudge/prompts/fences.py": "WORK: neutralise; the markers of chat_markers.toml",
    "metajudge/reviewables/labels.py": "WORK: in_reviewers_words; labels of a judge, escaped",
    "metajudge/providers/http_errors.py": "WORK: says; the words of wordings.toml",
    "metajudge/providers/negotiation.py": "names of our own parameters",
    "metajudge/store/postgres.py": "one escape character and one letter",
    "metajudge/reading/names.py": "escaped words of a column's name of 100 characters, between at most nine signs",
    "metajudge/reading/textless.py": "the pattern of ids",
    "metajudge/reading/formats/records.py": "patterns of our own specs, against a key or a file's name",
    "benchmarks/perf/tables.py": "figures of a table that is made here",
}
"""Files whose functions build patterns, and what goes into these, or which work below tries them."""


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern, where it stands, and by which of its methods it is used."""

    where: str
    pattern: re.Pattern[Any]
    methods: tuple[str, ...]


def modules() -> Iterator[Any]:
    for name in PACKAGES:
        package = importlib.import_module(name)
        yield package
        for one in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not one.name.endswith("__main__"):
                try:
                    yield importlib.import_module(one.name)
                except ConfigurationError:
                    continue  # an adapter of a tool that is not installed


def compiled() -> Iterator[Found]:
    """Patterns that modules hold: by name, or within tuples, lists and dicts."""
    seen: set[int] = set()
    for module in modules():
        source = Path(module.__file__).read_text(encoding="utf-8")
        for name, value in vars(module).items():
            for pattern in _patterns(value):
                if id(pattern) in seen:
                    continue
                seen.add(id(pattern))
                used = set(re.findall(rf"\b{name}\.(\w+)\(", source)) & set(METHODS)
                yield Found(f"{module.__name__}.{name}", pattern, tuple(sorted(used)) or ("search", "fullmatch"))


def _patterns(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _patterns(one)
    elif isinstance(value, tuple | list | set | frozenset):
        for one in value:
            yield from _patterns(one)


def inline() -> Iterator[tuple[str, ast.Call]]:
    """Calls such as ``re.sub("...", ...)`` within functions."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            for function in ast.walk(ast.parse(source)) if "re." in source else ():
                if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                    for node in ast.walk(function):
                        if _is_re_call(node):
                            yield f"{path.relative_to(ROOT).as_posix()}::{function.name}", node


def _is_re_call(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in (*METHODS, "compile")
    )


def literal(calls: list[tuple[str, ast.Call]]) -> Iterator[Found]:
    for where, call in calls:
        if isinstance(call.args[0], ast.Constant):
            flags = next((one.value for one in call.keywords if one.arg == "flags"), None)
            method = call.func.attr  # type: ignore[attr-defined]
            pattern = re.compile(call.args[0].value, re.IGNORECASE if flags is not None else 0)
            yield Found(where, pattern, (method,) if method != "compile" else ("search", "fullmatch"))


def adversarial(pattern: re.Pattern[Any]) -> list[tuple[str, str]]:
    """(prefix, unit): texts are the prefix and the unit as often as it takes."""
    flags = pattern.flags & ~re.DEBUG
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    if isinstance(pattern.pattern, bytes):
        flags |= re.UNICODE
    found: dict[tuple[str, str], None] = {}
    prefixes: dict[str, None] = {"": None}
    _walk(_parser.parse(source, flags), "", found, prefixes)
    for prefix in prefixes:
        if prefix:
            found["", prefix] = None
    units = dict.fromkeys(unit for _, unit in found if len(unit) == 1)
    for prefix in list(prefixes)[:24]:
        for unit in list(units)[:16]:
            found[prefix, unit] = None
            found["", prefix + unit] = None
    return list(found)


def _walk(tree: Any, before: str, found: dict[tuple[str, str], None], prefixes: dict[str, None]) -> str:
    """Notes all repetitions with what stands before them; returns a text that the whole tree matches, or nearly."""
    text = before
    for kind, argument in tree:
        prefixes[text[-40:]] = None
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            least, _, inner = argument
            for unit in _units(inner):
                found[text[-40:], unit] = None
                found["", text[-40:] + unit] = None
            once = _walk(inner, text, found, prefixes)[len(text) :]
            text += once * max(1, min(least, 20))
        elif kind is sre.SUBPATTERN:
            text = _walk(argument[3], text, found, prefixes)
        elif kind is sre.ATOMIC_GROUP:
            text = _walk(argument, text, found, prefixes)
        elif kind is sre.BRANCH:
            ends = [_walk(one, text, found, prefixes) for one in argument[1]]
            for end in ends[:12]:
                prefixes[end[-40:]] = None
            text = ends[0]
        else:
            text += next(iter(_characters(kind, argument)), "")
    prefixes[text[-40:]] = None
    return text


def _units(tree: Any) -> list[str]:
    """What a repetition may consist of: each kind of character of a class, or one pass through a group."""
    if len(tree) == 1 and tree[0][0] not in (sre.SUBPATTERN, sre.BRANCH):
        return _characters(*tree[0])
    return [_walk(tree, "", {}, {})]


_CATEGORIES = {
    sre.CATEGORY_SPACE: [" ", "\n"],
    sre.CATEGORY_DIGIT: ["1"],
    sre.CATEGORY_WORD: ["a", "1"],
    sre.CATEGORY_NOT_SPACE: ["a", "."],
    sre.CATEGORY_NOT_DIGIT: ["a", " "],
    sre.CATEGORY_NOT_WORD: [" ", "."],
}


def _characters(kind: Any, argument: Any) -> list[str]:
    match kind:
        case sre.LITERAL:
            return [chr(argument)]
        case sre.NOT_LITERAL:
            return [one for one in ("a", " ") if ord(one) != argument]
        case sre.ANY:
            return ["a", " "]
        case sre.CATEGORY:
            return _CATEGORIES[argument]
        case sre.RANGE:
            return [chr(argument[0])]
        case sre.IN if argument[0][0] is sre.NEGATE:
            taken = {one for inner in argument[1:] for one in _characters(*inner)}
            return [one for one in ("a", " ", ".", "<", '"', "\\") if one not in taken]
        case sre.IN:
            return list(dict.fromkeys(one for inner in argument for one in _characters(*inner)))[:8]
    return []


def run(found: Found, method: str, text: str) -> None:
    subject: Any = text if isinstance(found.pattern.pattern, str) else text.encode("latin-1", "replace")
    if method == "finditer":
        for _ in found.pattern.finditer(subject):
            pass
    elif method == "sub":
        found.pattern.sub(subject[:0], subject)
    else:
        getattr(found.pattern, method)(subject)


def too_slow(
    what: str, work: Callable[[str], object], prefix: str, unit: str, end: str, most: int, cpu_s: float = CPU_S
) -> str | None:
    """The first size at which the work on a text takes a CPU time that linear work cannot take."""
    for size in sorted({min(one, most) for one in (*SIZES, most)}):
        text = (prefix + unit * (size // len(unit) + 1))[:size] + end
        # A linear pattern takes some 10 ns a character. The least of several tries leaves out what else the machine did.
        allowed = max(0.05, cpu_s * size / FULL)
        spent = _spent(work, text)
        for _ in range(3 if allowed < spent < 3 * cpu_s else 0):
            spent = min(spent, _spent(work, text))
        if spent > allowed:
            return f"{what}: {spent:.2f} CPU s for {size:,} times {unit!r} after {prefix!r}, then {end!r}"
    return None


def _spent(work: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    work(text)
    return time.process_time() - start


INLINE = list(inline())
ALL = [one for one in (*compiled(), *literal(INLINE)) if one.where not in OWN_MESSAGES]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("found", ALL, ids=[one.where for one in ALL])
def test_no_pattern_takes_quadratic_time_on_a_text_that_is_made_for_it(found: Found) -> None:
    assert slow_pattern(found, FULL) is None


def slow_pattern(found: Found, most: int) -> str | None:
    bound = min(most, BOUNDED.get(found.where, FULL))
    same = {"findall": "finditer", "sub": "finditer", "split": "finditer"}
    texts = adversarial(found.pattern)[: TEXTS if most < FULL else 2 * TEXTS]
    for method in sorted({same.get(one, one) for one in found.methods}):
        for prefix, unit in texts:
            for end in ENDS:
                work = lambda text, by=method: run(found, by, text)  # noqa: E731
                slow = too_slow(found.where, work, prefix, unit, end, bound)
                if slow is not None:
                    return slow
    return None


def test_every_file_that_builds_patterns_at_run_time_is_known_here() -> None:
    built = {where.split("::")[0] for where, call in INLINE if not isinstance(call.args[0], ast.Constant)}
    assert built <= MADE.keys(), "say in MADE what goes into the patterns, and add work that tries them"


SHOWN = (("A", "A"), ("B", "B"))
NAMED = (("Output (a)", "A"), ("Output (b)", "B"))


def _forms_of(text: str) -> None:
    for shown in (SHOWN, NAMED):
        read_text_verdict(text, shown)


def _names(text: str) -> None:
    models = ("gpt-4o-mini", "claude", "anthropic/claude-sonnet-4-5", "a-a-a-a")
    hide_identities({"A": text, "B": "As Claude, I agree."}, question=text[:1000], models=models)


def _values(text: str) -> None:
    for ids in (("A", "B"), ("A",), ("A", "B", "C")):
        with suppress(UnknownValueError):
            Vocabulary({}).read(text, ids, {})


def _says(text: str) -> None:
    for name in tomllib.loads((ROOT / "metajudge" / "providers" / "wordings.toml").read_text("utf-8")):
        says(name, text[:8_000])


def _reply(text: str) -> None:
    with suppress(ReplyProblemsError):
        parse_pairwise_reply(text)
    mend(text, SCHEMA.schema)
    stated_marks(text)


WORK: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "in_reviewers_words": (
        partial(in_reviewers_words, seen={"A": "R2", "B": "R1"}),
        ("Assistant A and B ", "assistant ", "Responses\t\t\t", "[[A", "[[A>>B]]", "model A or "),
    ),
    "read_text_verdict": (
        _forms_of,
        (
            "[[ ", "[[a", "A= ", "A =A ", "A > B\t", "A>B.. ", "answer A ", "the winner is ", "i prefer ", "first response ",
            '"winner" : "', "it is a ", "verdict is **", "*A*", "Output (a) is much ", "ly,", "A''", " better response", "i ",
            "A\n", "Assistant A is clearly, hugely, better", "responses are ", "not ", "A<B>A ", "(((A)))", "winner:",
        ),
    ),
    "hide_identities": (_names, ("i am ", "as an ai made by ", "openai's ", "trained by google ", "**claude** ", "claude ", "claude1", "1.", "gpt-", "gpt-4o-", "a-", "a", "-", "claude-sonnet-", "gpt 4o.")),
    "is_quoted": (lambda text: is_quoted(text, text[:1000]), (" ", "[ ", "... ", "[...", "a...", "a ", ".", "…]")),
    "says": (_says, ("context ", "role system ", "stream ", "max_tokens ", "enum ", "violate ", "1 ", "a", " ")),
    "replies": (_reply, ("```json\n", "\n", "{", '{"a":', '"', '\\"', "[", "<think>", "[[A>", "[[A>>B", '"verdict": "A', "1", " ")),
    "values": (_values, (" ", "output_", "output_1", "1", "[", "[[", "a>", "A=", "_", "model a", "()", "a,", ">>", '"')),
    "neutralise": (partial(_neutralised, rules=3), ("<|", "<|a", "<", "[/", "[INST]", "<extra_id_1", "\n\n", "\n\nHuman:", "\n ## ", "\n### Input", "◁", "<a|", "⟦", "</s>", "\x00")),
    # Longer texts are shown as written.
    "formatted": (
        lambda text: judged_text.formatted(text[: judged_text.LONGEST]),
        ("\\(", "\\( ", "\\(x", "\\[\n", "\\[", "$a", "$$\n", "\\begin{", "[", "[a](", "|a|\n", "*a", "> "),
    ),
}  # fmt: skip
"""Work on untrusted text that is more than one pattern, and what its texts are made of."""

PREFIXES = {"hide_identities": ("",)}
"""What stands before the repeated part, where marks of verdicts mean nothing to the work."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", WORK)
def test_no_work_on_untrusted_text_takes_quadratic_time(name: str) -> None:
    work, units = WORK[name]
    for prefix in PREFIXES.get(name, ("", "[[", "```")):
        for unit in units:
            for end in ("x", "\n```"):
                assert too_slow(name, work, prefix, unit, end, FULL, WORK_CPU_S) is None


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\[\[\s*([^\[\]]{1,80}?)\s*\]\]", "finditer"),
        (r"(?s)\A```(?:json)?\s*\n(.*)\n\s*```\Z", "match"),
        (r"\s*(?:\[\s*)?(?:\.{3,}|…)(?:\s*\])?\s*", "split"),
        (r"/v\d+[a-z0-9]*(?=/|$)", "search"),
        (r"\s*(?:\[\[)?\s*([\w.-]+)\s*(>>|>)\s*([\w.-]+)", "fullmatch"),
    ],
)
def test_a_pattern_that_is_not_linear_is_found_out(pattern: str, method: str) -> None:
    slow = slow_pattern(Found("here", re.compile(pattern), (method,)), SIZES[-1])
    assert slow is not None
    assert "CPU s" in slow
