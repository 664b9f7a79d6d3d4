"""What a person reads of a judged case."""

from metajudge.cases.case import Case
from metajudge.cases.records import review_of
from metajudge.cases.sheet import RESULT, case_sheet, content_of, sheet_of, stage_texts
from tests.cases.panels import NOW, RISK, panel
from tests.doubles.cases import ANALYSIS, flood, scored

UNSURE = dict.fromkeys(ANALYSIS, (8, 0.2))
QUOTED = ("Stock lasts 14 days", "stock_days", "Nobody ever wrote this.")


async def judged(*judges, case=None):
    return await panel(*(judges or (scored(evidence=QUOTED, weaknesses=("no costs",)),))).judge(
        case or flood(), now=NOW
    )


async def test_every_score_comment_quote_and_weakness_is_there_by_stage():
    sheet = sheet_of(flood(), await judged())
    relevance, analysis = sheet.stages
    assert (relevance.name, analysis.name) == ("relevance_check", "risk_analysis")
    assert (relevance.score, analysis.confidence) == (9.0, 0.875)
    assert analysis.context == '{\n  "stock_days": 14\n}'
    row = next(one for one in analysis.rows if one.name == "completeness")
    assert (row.score, row.confidence, row.comment) == (7, 0.82, "About completeness.")
    assert row.weaknesses == ("no costs",)
    assert [quote.where for quote in row.quotes] == ["in the output", "in the context only", "not in the text"]
    assert analysis.judges == ()


async def test_invented_quotes_are_counted_and_warned_of():
    sheet = sheet_of(flood(), await judged())
    assert (sheet.quotes, sheet.quotes_found, sheet.invented) == (36, 16, 20)
    assert sheet.warning.startswith("20 of 36 quotes given as evidence are invented")
    assert sheet.to_json()["warning"] == sheet.warning
    assert sheet_of(flood(), await judged(scored())).warning is None


async def test_several_judges_have_their_own_rows_and_one_that_failed_its_reason():
    sheet = sheet_of(flood(), await judged(scored(name="a"), scored(analysis=UNSURE, name="b")))
    stage = sheet.stages[1]
    assert [one.judge for one in stage.judges] == ["a", "b"]
    assert [one.rows[0].score for one in stage.judges] == [8, 8]
    assert [one.rows[0].confidence for one in stage.judges] == [0.85, 0.2]


async def test_a_review_keeps_the_whole_result_and_reads_back_as_the_same_sheet():
    case = flood(label=True)
    result = await judged(scored(analysis=UNSURE, evidence=QUOTED), case=case)
    review = review_of(result, case, RISK, 1.0)
    assert case_sheet(review.content) == sheet_of(case, result)
    assert review.truth is True
    assert list(stage_texts(review.content)) == ["relevance_check", "risk_analysis"]


async def test_an_older_review_a_later_one_and_a_forgotten_one_still_show_their_texts():
    content = content_of(flood(), await judged())
    older = case_sheet({name: texts for name, texts in content.items() if name != RESULT})
    later = case_sheet({**content, RESULT: {"version": 99}})
    assert older == later
    assert older.stages[0].output.startswith("The plant stands")
    assert (older.judged, older.stages[0].score, older.stages[0].rows, older.tips) == (False, None, (), ())
    assert case_sheet({}).stages == case_sheet(None).stages == ()


async def test_a_case_that_the_gate_ended_says_so():
    case = Case.model_validate(
        {**flood().model_dump(), "stages": [{"name": "relevance_check", "output": {"relevance": 0.6}}]}
    )
    sheet = sheet_of(case, await judged(case=case))
    assert sheet.gate == "gate of relevance_check: 0.6, quick review"
    assert (sheet.stages[0].score, sheet.stages[0].rows) == (None, ())
