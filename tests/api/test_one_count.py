"""One messy file, through everything that counts it: one set of counts, shares and intervals."""

import html
import json
import os
import re
import subprocess
import sys

import pytest

import metajudge
from metajudge.reading import open_judgments
from metajudge.stats.clustered import clustered_proportion
from metajudge.types import Assessment
from tests.api.test_jobs import NDJSON, ended
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import score_answer

JUDGES = ("owl", "jay", "elm")
SAID = {"decided": "verdicts that name an answer", "undecided": "ties", "no_verdict": "no verdict"}
WORDS = {"all": "all given", **SAID, "kept": "kept", "discarded": "discarded", "asked": "asked, nothing decided"}


def messy(judges):
    """Eight questions of two items each; ties, missing verdicts, missing labels and labels that are ties."""
    for number in range(16):
        label = None if number == 5 else "A=B" if number in (6, 7) else "B>A" if number % 5 == 0 else "A>B"
        for place, judge in enumerate(judges):
            kind = (number + 2 * place) % 8
            verdict = {3: "A=B", 4: None, 6: "B>A"}.get(kind, "A>B")
            yield judgment(
                id=f"{number}/{judge}",
                item_id=f"item-{number}",
                question=f"Which is right, question {number % 8}? {'broken' if number % 8 == 2 else ''}",
                judge=judge,
                label=label,
                verdict=verdict,
                no_verdict="empty reply" if verdict is None else None,
            )


def answer(body):
    """High for some, low for others, and nothing that can be read for one question."""
    text = json.dumps(body)
    if "broken" in text:
        return "prose"
    return score_answer(5 if re.search(r"question [0135]", text) else 2)(body)


def expected(records, kept):
    """Row -> judgments, compared, right and the interval, one by one; ``kept`` by judgment id."""
    rows = {name: [] for name in WORDS}
    for one in records:
        fate = {True: "kept", False: "discarded", None: "asked"}[kept[one.id]] if kept else None
        said = "no_verdict" if one.verdict is None else "undecided" if one.verdict.winner is None else "decided"
        known = one.verdict is not None and one.item.label is not None and one.item.label.winner is not None
        right = one.verdict.winner == one.item.label.winner if known else None
        for name in ("all", said, *([fate] if fate else [])):
            rows[name].append((right, one.item.question))
    return {name: figures(some) for name, some in rows.items() if kept or name in ("all", *SAID)}


def figures(row):
    known = [(right, question) for right, question in row if right is not None]
    if not known:
        return len(row), 0, 0, None
    share = clustered_proportion([right for right, _ in known], [question for _, question in known])
    return len(row), len(known), share.successes, (round(share.low, 9), round(share.high, 9))


def plain(rows):
    """The rows of a JSON document of ours."""
    found = {name: rows[name] for name in WORDS if name in rows}
    return {
        name: (
            *(one["n"], one["compared"], one["right"]),
            None if one["low"] is None else (round(one["low"], 9), round(one["high"], 9)),
        )
        for name, one in found.items()
    }


def tabled(rows):
    """The rows with numbers as a page prints them: per cent with one decimal."""
    return {
        WORDS[name]: (n, compared, *((f"{100 * ends[0]:.1f}", f"{100 * ends[1]:.1f}") if ends else ()))
        for name, (n, compared, _, ends) in rows.items()
        if n
    }


class Files:
    """The commands, run once over the file of some judges."""

    def __init__(self, folder, judges, url):
        self.folder, self.records = folder, list(messy(judges))
        (folder / "messy.jsonl").write_text("".join(f"{one.model_dump_json()}\n" for one in self.records))
        agent = ["--agent", f"openai:a@{url}", "--rubric", "baseline"]
        self.vetted = self.run(
            "vet", "messy.jsonl", *agent, *["--out", "o.jsonl", "--store", "s.db", "--report", "r.json"]
        )
        self.assessments = list(map(Assessment.model_validate_json, (folder / "o.jsonl").read_text().splitlines()))
        self.rows = expected(self.records, {one.judgment_id: one.kept for one in self.assessments})
        self.said = {name: row for name, row in self.rows.items() if name in ("all", *SAID)}

    def run(self, *command, text=False):
        env = {**os.environ, "XDG_CONFIG_HOME": str(self.folder / "config")}
        whole = [sys.executable, "-m", "metajudge", *command, *([] if text else ["--json"])]
        done = subprocess.run(whole, cwd=self.folder, env=env, capture_output=True, text=True, timeout=120)
        assert done.stdout, done.stderr
        return done.stdout if text else json.loads(done.stdout)


@pytest.fixture(scope="module", params=[JUDGES, ("owl",)], ids=["several judges", "one judge"])
def files(request, tmp_path_factory):
    from tests.doubles.llm_server import LLMServer

    with LLMServer(answer=answer) as server:
        yield Files(tmp_path_factory.mktemp("messy"), request.param, server.url)


def test_the_file_is_messy(files):
    assert all(n for n, *_ in files.rows.values()), "every row has judgments"
    assert files.rows["undecided"][2] == 0 < files.rows["undecided"][1], "ties are compared, and wrong"
    assert files.rows["asked"][1] > 0, "some that nothing decided on have labels"


def test_vet_as_json_and_its_old_names(files):
    assert plain(files.vetted["counts"]["rows"]) == files.rows
    labels, rows = files.vetted["labels"], files.rows
    assert (labels["all"], labels["all_correct"]) == rows["all"][1:3]
    assert (labels["kept"], labels["kept_correct"]) == rows["kept"][1:3]
    said = [one for one in files.records if one.verdict is not None]
    assert files.vetted["counts"]["not_compared"] == {
        "no label": sum(one.item.label is None for one in said),
        "no verdict": len(files.records) - len(said),
        "tied label": sum(one.item.label is not None and one.item.label.winner is None for one in said),
    }


def test_vet_on_the_terminal(files):
    text = files.run("vet", "messy.jsonl", "--store", "free.db", text=True)
    rows = {
        name: found
        for name, *found in re.findall(r"^  (\S.*?) {2,}(\d+) of (\d+) right.*\(([\d.]+) to ([\d.]+)", text, re.M)
    }
    _, compared, right, ends = files.rows["all"]
    assert rows["all given"] == [str(right), str(compared), f"{100 * ends[0]:.1f}", f"{100 * ends[1]:.1f}"]
    _, compared, right, _ = files.rows["undecided"]
    assert rows["ties"][:2] == [str(right), str(compared)]
    assert "on items that people call a tie" in text


def table_of(report, caption):
    blocks = [block for section in report["sections"] for block in section["blocks"]]
    return next(block for block in blocks if (block.get("caption") or "").endswith(caption))


def test_the_report_of_the_run_and_the_one_from_its_store(files):
    run = files.vetted["run_id"]
    files.run("show", run, "--store", "s.db", "--report", "later.json", text=True)
    for name in ("r.json", "later.json"):
        report = json.loads((files.folder / name).read_text())
        found = {}
        for title, n, compared, _, share in table_of(report, "Right by the labels")["rows"]:
            ends = (f"{100 * share['low']:.1f}", f"{100 * share['high']:.1f}") if "low" in share else ()
            found[title] = (n, compared, *ends)
        assert found == tabled(files.rows)


def test_bench_and_audit(files):
    bench = files.run("bench", "file", "messy.jsonl")
    judges = {one["judge"]: one for one in bench["judges"]}
    audit = {one["judge"]: one for one in files.run("audit", "messy.jsonl")["judges"]}
    for name in {one.judge for one in files.records}:
        mine = expected([one for one in files.records if one.judge == name], None)
        assert cells_of(judges[name]["counts"]) == mine
        assert of_card(audit[name]) == mine["all"][1:]
        share = bench["accuracy"][[one["judge"] for one in bench["accuracy"]].index(name)]["cells"]["Overall"]
        raw = judges[name]["rows"][0]["cells"]["Overall"]["precision"]
        for one in (share, raw):
            assert (one["n"], one["successes"], (round(one["low"], 9), round(one["high"], 9))) == mine["all"][1:]
    together = judges.get("all judges", judges.get("owl"))
    assert cells_of(together["counts"]) == files.said


def of_card(judge):
    """What an audit says of a judge, as the row of all says it."""
    found = judge["figures"]["accuracy"]
    low, high = found["interval"]
    return found["n"], round(found["estimate"] * found["n"]), (round(low, 9), round(high, 9))


def cells_of(counts):
    found = {}
    for name, one in counts.items():
        share = one["share"]
        ends = None if share is None else (round(share["low"], 9), round(share["high"], 9))
        found[name] = (one["n"], *((share["n"], share["successes"]) if share else (0, 0)), ends)
    return found


def test_python(files):
    found = metajudge.count(open_judgments([files.folder / "messy.jsonl"]), files.assessments)
    assert plain(found["rows"]) == files.rows
    assert found["not_compared"] == files.vetted["counts"]["not_compared"]


def outcomes(rows):
    kept, discarded, asked, silent = (rows[name][0] for name in ("kept", "discarded", "asked", "no_verdict"))
    return kept, discarded, asked, silent


def test_runs_and_export(files):
    kept, discarded, asked, silent = outcomes(files.rows)
    line = files.run("runs", "--store", "s.db", text=True).splitlines()[0]
    assert f"{kept} kept, {discarded} discarded, {asked} asked, {silent} no verdict, 0 failed" in line
    printed = files.run("export", "preferences", "--store", "s.db", "--out", "pairs", text=True)
    found = re.search(r"selection +\d+ -> +(\d+) judgments +\((.*)\)", printed)
    assert (int(found[1]), found[2]) == (kept, f"{asked - silent} asked, {discarded} discarded, {silent} no verdict")


def test_dashboard_and_runs_page(files, serve):
    client = serve(store=files.folder / "s.db")
    page = client.get("/dashboard?labels=truth&days=0").text
    section = re.search(r'id="right-heading".*?</section>', page, re.S)[0]
    found = {}
    for row in re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", section):
        title, n, compared, share = re.split(r"</t[hd]><td[^>]*>", row)
        ends = re.search(r"([\d.]+) to ([\d.]+)", share)
        found[html.unescape(title)] = (int(n), int(compared), *(ends.groups() if ends else ()))
    assert found == tabled(files.rows)
    for name in {one.judge for one in files.records}:
        mine = expected([one for one in files.records if one.judge == name], None)["all"]
        row = re.search(rf"judge={name}\">.*?</tr>", page, re.S)[0]
        assert f"{100 * mine[3][0]:.1f} to {100 * mine[3][1]:.1f}, n={mine[1]}" in row
    kept, discarded, _, silent = outcomes(files.rows)
    tiles = dict(map(reversed, re.findall(r'<div class="tile"><b>(\d+)</b><span>([^<]*)</span>', page)))
    assert [tiles[name] for name in ("kept", "discarded", "no verdict", "failed")] == [
        *map(str, (kept, discarded, silent)),
        "0",
    ]
    high, low = (float(re.search(rf'id="keep"[^>]*{end}="([\d.]+)"', page)[1]) for end in ("max", "min"))
    assert low < 4.5 < high
    runs = client.get("/runs").text
    assert f"{silent} no verdict" in runs
    assert " failed<" not in runs


def test_http(files, serve, models):
    from tests.api.conftest import panel_of

    client = serve(panels={"default": panel_of(models(answer=answer), "a")}, store=files.folder / "http.db")
    body = (files.folder / "messy.jsonl").read_text()
    location = client.post("/v1/vet/batch", content=body, headers=NDJSON).headers["location"]
    status = ended(client, location)["by_status"]
    kept, discarded, asked, silent = outcomes(files.rows)
    assert status == {"assessed": kept + discarded, "unscored": asked - silent, "no_verdict": silent}
    lines = client.get(f"{location}/results", headers={"accept": "application/x-ndjson"}).text.splitlines()
    found = metajudge.count(files.records, [Assessment.model_validate(json.loads(one)["assessment"]) for one in lines])
    assert plain(found["rows"]) == files.rows
    audit = client.post("/v1/audit", content=body, headers=NDJSON).json()
    for one in audit["judges"]:
        mine = expected([record for record in files.records if record.judge == one["judge"]], None)["all"]
        assert of_card(one) == mine[1:]


def test_a_run_whose_calls_all_failed_did_not_vet(tmp_path, models):
    (tmp_path / "one.jsonl").write_text(next(messy(("owl",))).model_dump_json() + "\n")
    server = models(faults=lambda _: "401")
    command = ["vet", "one.jsonl", "--agent", f"openai:a@{server.url}", "--store", "s.db"]
    done = subprocess.run(
        [sys.executable, "-m", "metajudge", *command], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.startswith("Not vetted: single of openai:a"), done.stdout
    assert "etted by" not in done.stdout
