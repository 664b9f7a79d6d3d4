"""Result folders as others get them: checked, signed, pooled."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from metajudge.benchmarks.live import signing
from metajudge.benchmarks.live.folder import FILES, MANIFEST, REPORT, SCORES, file_digest
from metajudge.benchmarks.live.merging import heterogeneity, merge, merged_lines, merged_report, open_folders
from metajudge.benchmarks.live.sampling import draw
from metajudge.benchmarks.live.verifying import verify

from metajudge.errors import InputError
from metajudge.report import Absent
from metajudge.report.html import to_html
from metajudge.stats.influence import Influence
from tests.doubles.live_runs import SETUP, candidates, result


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return candidates(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def made(tmp_path_factory, found):
    return result(tmp_path_factory.mktemp("results") / "one", found)


@pytest.fixture
def folder(tmp_path, made):
    return Path(shutil.copytree(made, tmp_path / "one"))


def holding(folder, **given):
    return {one.name: one.holds for one in verify(folder, **given)}


def remanifest(folder):
    """What somebody does who changes a file and knows of the manifest."""
    (folder / MANIFEST).write_text("".join(f"{file_digest(folder / name)}  {name}\n" for name in sorted(FILES)))


def test_an_untouched_folder_holds_and_is_drawn_again_from_the_data(folder, found):
    assert holding(folder, items=draw(found, 60, 1, 0)) == {
        "files": True, "signature": None, "plan": True, "prompts": True, "data": True, "figures": True, "page": True,
        "costs": True,
    }  # fmt: skip
    assert holding(folder, items=draw(found, 60, 1, 1))["data"] is False


def test_no_text_of_the_data_is_in_the_folder(folder):
    for path in folder.iterdir():
        text = path.read_text("utf-8")
        assert not re.search(r"Sum \d+", text)
        assert "digit by digit" not in text


def test_the_manifest_is_what_sha256sum_reads(folder):
    done = subprocess.run(["sha256sum", "-c", MANIFEST], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0


def test_a_changed_file_is_found(folder):
    with (folder / SCORES).open("a") as stream:
        stream.write("\n")
    assert holding(folder)["files"] is False


def test_a_changed_score_is_found_even_with_a_new_manifest(folder):
    lines = [json.loads(line) for line in (folder / SCORES).read_text().splitlines()]
    lines[0]["score"] = 6 - lines[0]["score"]
    (folder / SCORES).write_text("".join(json.dumps(line) + "\n" for line in lines))
    remanifest(folder)
    state = {one.name: one for one in verify(folder)}
    assert state["files"].holds
    assert state["figures"].holds is False
    assert "computed" in state["figures"].words


def test_a_nicer_report_is_found_even_with_a_new_manifest(folder):
    report = json.loads((folder / REPORT).read_text())
    report["answers"][0]["verdict"] = "no difference found"
    (folder / REPORT).write_text(json.dumps(report))
    remanifest(folder)
    state = {one.name: one for one in verify(folder)}
    assert state["figures"].holds is False
    assert "answers[0].verdict" in state["figures"].words


def test_a_nicer_page_is_found_even_with_a_new_manifest(folder):
    page = folder / "report.html"
    page.write_text(page.read_text().replace("too few to say", "yes"))
    remanifest(folder)
    assert holding(folder)["page"] is False


def test_another_plan_is_found_even_with_a_new_manifest(folder):
    plan = json.loads((folder / "plan.json").read_text())
    plan["setup"]["level"] = 0.2
    (folder / "plan.json").write_text(json.dumps(plan))
    remanifest(folder)
    assert holding(folder)["plan"] is False


def test_a_file_put_in_or_taken_away_is_found(folder):
    (folder / "more.txt").write_text("x")
    assert holding(folder)["files"] is False
    (folder / "more.txt").unlink()
    (folder / "README.txt").unlink()
    assert holding(folder)["files"] is False


def test_a_folder_of_something_else_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        verify(tmp_path)
    (tmp_path / MANIFEST).write_text("0" * 64 + "  ../../etc/passwd\n")
    with pytest.raises(InputError, match="not a digest"):
        verify(tmp_path)


needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


@needs_ssh
def test_a_signature_holds_until_the_manifest_changes(folder, key, tmp_path):
    signing.sign(folder / MANIFEST, key)
    assert holding(folder)["signature"] is True
    public = key.with_suffix(".pub").read_text().split()
    signers = tmp_path / "signers"
    signers.write_text(f"me@example.org {public[0]} {public[1]}\n")
    assert holding(folder, signers=signers)["signature"] is True
    assert holding(folder, signers=signers, identity="me@example.org")["signature"] is True
    assert holding(folder, signers=signers, identity="you@example.org")["signature"] is False
    signers.write_text("")
    assert holding(folder, signers=signers)["signature"] is False
    with (folder / SCORES).open("a") as stream:
        stream.write("\n")
    remanifest(folder)
    assert holding(folder)["signature"] is False


@needs_ssh
def test_a_key_that_is_none_is_refused(folder, tmp_path):
    with pytest.raises(InputError, match="no such key file"):
        signing.sign(folder / MANIFEST, tmp_path / "none")
    (tmp_path / "bad").write_text("not a key")
    with pytest.raises(InputError, match="cannot sign with it"):
        signing.sign(folder / MANIFEST, tmp_path / "bad")


def test_an_unsigned_folder_does_not_hold_where_a_signer_is_asked_for(folder, tmp_path):
    (tmp_path / "signers").write_text("")
    assert holding(folder, signers=tmp_path / "signers")["signature"] is False


@pytest.mark.slow
def test_folders_are_pooled_by_question(tmp_path, found):
    folders = [result(tmp_path / f"run-{seed}", found, seed=seed, accuracy=0.85) for seed in (1, 2, 3)]
    merged = merge(open_folders(folders))
    pooled = merged.pooled[0]
    each = [one.effect for one in pooled.each]
    assert pooled.effect.value == pytest.approx(sum(one.value for one in each) / 3)
    assert pooled.effect.high - pooled.effect.low < min(one.high - one.low for one in each)
    assert pooled.questions == 60
    assert any("all folders have the same models" in line for line in merged_lines(merged))
    assert "pooled" in to_html(merged_report(merged))


@pytest.mark.slow
def test_folders_of_other_models_are_pooled_and_their_difference_is_named(tmp_path, found):
    others = {name: {**one, "model": f"{one['model']}-other"} for name, one in SETUP["agents"].items()}
    good = result(tmp_path / "good", found, seed=1, accuracy=0.98)
    bad = result(tmp_path / "bad", found, seed=2, accuracy=0.5, agents=others)
    merged = merge(open_folders([good, bad]))
    assert any("different models" in note for note in merged.notes)
    assert merged.pooled[0].heterogeneity.p_value < 0.01
    assert merged.pooled[0].heterogeneity.tau > 0.1


@pytest.mark.slow
def test_the_same_run_twice_is_refused_even_under_another_name(tmp_path, found):
    one = result(tmp_path / "one", found, seed=1)
    shutil.copytree(one, tmp_path / "copy")
    with pytest.raises(InputError, match="are the same run"):
        open_folders([one, tmp_path / "copy"])
    run = json.loads((tmp_path / "copy" / "run.json").read_text())
    (tmp_path / "copy" / "run.json").write_text(json.dumps({**run, "run_id": "another"}))
    other = result(tmp_path / "again", found, seed=1)
    record = json.loads((other / "run.json").read_text())
    assert record["run_id"] == run["run_id"]
    with pytest.raises(InputError, match="are the same run"):
        open_folders([one, other])


@pytest.mark.slow
def test_other_items_other_analyses_and_unfinished_runs_are_refused(tmp_path, found):
    one = result(tmp_path / "one", found, seed=1)
    with pytest.raises(InputError, match="at least two"):
        open_folders([one])
    with pytest.raises(InputError, match="have different items"):
        open_folders([one, result(tmp_path / "items", found, seed=2, draw_seed=5, questions=40)])
    with pytest.raises(InputError, match=r"different analyses \(threshold\)"):
        open_folders([one, result(tmp_path / "analyses", found, seed=3, threshold=4.0)])
    with pytest.raises(InputError, match="has not ended"):
        open_folders([one, result(tmp_path / "open", found, seed=4, end="budget")])
    changed = result(tmp_path / "changed", found, seed=5)
    (changed / SCORES).write_text("")
    with pytest.raises(InputError, match="does not hold"):
        open_folders([one, changed])


@pytest.mark.slow
def test_a_comparison_that_one_folder_cannot_answer_is_not_pooled(tmp_path, found):
    folders = [result(tmp_path / f"{seed}", found, seed=seed, questions=12) for seed in (1, 2)]
    merged = merge(open_folders(folders))
    assert isinstance(merged.pooled[0].effect, Absent)
    assert merged.pooled[0].verdict == "too few to say"


@pytest.mark.slow
def test_folders_that_agree_have_no_heterogeneity_and_the_test_keeps_its_level():
    import numpy as np

    rng, found, runs = np.random.default_rng(0), 0, 400
    for _ in range(runs):
        noise = rng.normal(size=(3, 50))
        shared = rng.normal(size=50)
        figures = []
        for row in noise:
            values = shared + row
            parts = (values - values.mean()) / 50
            figures.append(Influence(values.mean(), dict(zip(map(str, range(50)), parts, strict=True)), 50, 0.0, 49))
        found += heterogeneity(figures).p_value < 0.05
    assert 0.02 <= found / runs <= 0.09
