"""Policies by name or from a YAML file, with errors that say what to change and where.

>>> load_policy("risk_analysis").cases.profile_for("climate").weights["traceability"]
1.5
"""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path

from metajudge.decision.policy import Policy, check_rubric
from metajudge.errors import PolicyError, RubricError
from metajudge.files.yaml_documents import did_you_mean, looks_like_path, name_list, parse_record, read_text
from metajudge.rubric import Rubric, load_rubric

BUILTIN_POLICIES = ("verdict", "verdict_score", "risk_analysis", "risk_analysis_verified")
"""The policies that come with metajudge; the first is the default for verdicts."""

DEFAULT_CASE_POLICY = "risk_analysis"
"""The default policy for cases."""

VERIFIED_POLICY = "risk_analysis_verified"
"""The same, which also looks at the share of verified quotes."""


def load_policy(name_or_path: str | Path) -> Policy:
    """Loads a built-in policy by its name, or one of your own from a YAML file, and checks it against its rubric.

    Args:
        name_or_path: one of :data:`BUILTIN_POLICIES`, or a path (a ``Path``, or a string with a directory in it or
            ending in .yaml, .yml or .json).

    Raises:
        PolicyError: unknown name, unreadable file, gaps or overlaps, a criterion that the rubric lacks.
    """
    if isinstance(name_or_path, str) and not looks_like_path(name_or_path):
        if name_or_path not in BUILTIN_POLICIES:
            for one in list_policies():
                if one.cases is not None and one.cases.profile_for(name_or_path) is not None:
                    raise PolicyError(
                        f"{name_or_path!r} is a weight profile of policy {one.name!r}: give the policy's name, and the "
                        "type of a case chooses the profile"
                    )
            raise PolicyError(
                f"unknown policy {name_or_path!r}; built in are {name_list(BUILTIN_POLICIES)}"
                f"{did_you_mean(name_or_path, BUILTIN_POLICIES)} (a file of your own: give its path, ending in .yaml)"
            )
        return _builtin(name_or_path)
    path = Path(name_or_path)
    policy = parse_policy(read_text(path, "policy", PolicyError), str(path))
    if policy.cases is not None:
        check_rubric(policy, case_rubric(policy, path.parent))
    return policy


def list_policies() -> list[Policy]:
    """The built-in policies."""
    return [_builtin(name) for name in BUILTIN_POLICIES]


def parse_policy(text: str, source: str) -> Policy:
    """Reads a policy from YAML text; its rubric is not looked at.

    Args:
        text: the YAML (or JSON) document.
        source: what to call it in error messages, e.g. its path.

    Raises:
        PolicyError: every problem found, one a line: source, path inside it, what is accepted, what was found.
    """
    what = "policy is a mapping with name, title, description, basis and bands"
    return parse_record(text, source, what, Policy, PolicyError)


def parse_draft(text: str) -> Policy:
    """Reads the text of a draft policy and checks it against its rubric, which must be built in.

    Raises:
        PolicyError: as for :func:`parse_policy`; a rubric named by a path, as no file is read for a draft.
    """
    policy = parse_policy(text, "draft")
    if policy.cases is not None:
        if looks_like_path(policy.cases.rubric):
            raise PolicyError(f"draft: cases.rubric: {policy.cases.rubric!r} is a path: name a built-in rubric")
        check_rubric(policy, case_rubric(policy))
    return policy


def case_rubric(policy: Policy, folder: Path | None = None) -> Rubric:
    """The rubric a policy's cases are judged by.

    Args:
        folder: where the policy's file is, for a rubric given by a relative path.

    Raises:
        PolicyError: the policy is for verdicts alone, or its rubric cannot be read.
    """
    if policy.cases is None:
        raise PolicyError(f"policy {policy.name!r} is for verdicts: it needs a section `cases` to judge cases")
    name, levels, where = policy.cases.rubric, policy.cases.levels, f"policy {policy.name!r}: cases.rubric"
    try:
        rubric = load_rubric((folder or Path()) / name if looks_like_path(name) else name)
    except RubricError as error:
        raise PolicyError(f"{where}: {error}") from None
    known = [criterion.name for criterion in rubric.criteria]
    for one in levels:
        if one not in known:
            hint = did_you_mean(one, known)
            raise PolicyError(f"{where}: levels: no criterion {one!r}; it has {name_list(known)}{hint}")
    if not levels:
        return rubric
    told = {one.name: {**one.levels, **levels.get(one.name, {})} for one in rubric.criteria}
    try:
        criteria = tuple(one.model_copy(update={"levels": told[one.name]}) for one in rubric.criteria)
        return rubric.model_copy(update={"criteria": criteria})
    except ValueError as error:  # a level off the scale
        raise PolicyError(f"{where}: levels: {error}") from None


def spellings(category: str, policies: Iterable[Policy] = ()) -> tuple[str, ...]:
    """The names, in lower case, that a category goes by: its own, and those of the profiles for it.

    Args:
        policies: whose profiles count besides those of built-in policies.
    """
    known = (*list_policies(), *policies)
    profiles = [one for policy in known if policy.cases is not None for one in policy.cases.profiles]
    names = [name for one in profiles if one.fits(category) for name in (one.name, *one.types)]
    return tuple(dict.fromkeys(name.lower() for name in (category, *names)))


@cache
def _builtin(name: str) -> Policy:
    text = files("metajudge.rubric_files.policies").joinpath(f"{name}.yaml").read_text("utf-8")
    policy = parse_policy(text, f"{name}.yaml")
    if policy.cases is not None:
        check_rubric(policy, case_rubric(policy))
    return policy
