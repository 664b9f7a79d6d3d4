"""Policies by name and by file."""

import json
from importlib.resources import files

import jsonschema
import pytest
import yaml

from metajudge.decision import BUILTIN_POLICIES, Policy, list_policies, load_policy
from metajudge.decision.load import spellings
from metajudge.errors import PolicyError
from tests.decision.policy_texts import FOLDER, RISK, changed

SCHEMA = json.loads(FOLDER.joinpath("policy.schema.json").read_text("utf-8"))


def test_every_shipped_file_is_listed_named_after_its_file_and_fits_the_schema():
    stems = {entry.name.removesuffix(".yaml") for entry in FOLDER.iterdir() if entry.name.endswith(".yaml")}
    assert stems == set(BUILTIN_POLICIES)
    assert [policy.name for policy in list_policies()] == list(BUILTIN_POLICIES)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for name in BUILTIN_POLICIES:
        data = yaml.safe_load(FOLDER.joinpath(f"{name}.yaml").read_text("utf-8"))
        jsonschema.Draft202012Validator(SCHEMA).validate(data)


def test_the_schema_file_is_the_models_own():
    """The file is for editors; `metajudge schema policy` writes it."""
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Policy.model_json_schema()}
    assert document == SCHEMA


def test_a_rubric_of_ones_own_is_found_beside_the_policy(tmp_path):
    rubric = files("metajudge.rubric_files.cases").joinpath("risk_analysis.yaml").read_text("utf-8")
    (tmp_path / "own.yaml").write_text(rubric.replace("name: risk_analysis", "name: own"))
    path = tmp_path / "mine.yaml"
    path.write_text(changed(RISK, ("rubric: risk_analysis", "rubric: ./own.yaml")))
    assert load_policy(path).cases.rubric == "./own.yaml"
    (tmp_path / "own.yaml").unlink()
    with pytest.raises(PolicyError, match=r"cases\.rubric: .*own\.yaml: cannot read the rubric"):
        load_policy(path)


def test_an_unknown_policy_is_answered_with_what_there_is():
    with pytest.raises(PolicyError, match=r"unknown policy 'verdct'; built in are .*did you mean verdict"):
        load_policy("verdct")
    with pytest.raises(PolicyError, match="'climate' is a weight profile of policy 'risk_analysis'"):
        load_policy("climate")
    with pytest.raises(PolicyError, match="cannot read the policy"):
        load_policy("nowhere/mine.yaml")


def test_a_category_goes_by_every_name_of_its_profile_and_any_other_by_itself():
    assert set(spellings("Climatique")) == {"climatique", "climate", "climatic"}
    assert spellings("Finance") == ("finance",)
