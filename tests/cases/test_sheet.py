"""What a person reads of a judged case."""

from metajudge.cases.records import review_of
from metajudge.cases.sheet import RESULT, case_sheet, content_of, sheet_of, stage_texts
from tests.cases.panels import NOW, RISK, panel
from tests.doubles.cases import ANALYSIS, flood, scored

UNSURE = dict.fromkeys(ANALYSIS, (8, 0.2))
QUOTED = ("Stock lasts 14 days", "the flood", "Nobody ever wrote this.")


async def judged(*judges, case=None):
    return await panel(*(judges or (scored(evidence=QUOTED, weaknesses=("no costs",)),))).judge(
        case or flood(), now=NOW
    )


async def test_invented_quotes_are_counted_and_warned_of():
    sheet = sheet_of(flood(), await judged())
    assert (sheet.quotes, sheet.quotes_found, sheet.quotes_short, sheet.invented) == (36, 8, 12, 16)
    assert sheet.warning.startswith("16 of 36 quotes given as evidence are invented")
    assert sheet.warning.endswith("12 of 36 quotes given as evidence are too short to prove anything.")
    assert {quote.where for quote in sheet.stages[1].rows[0].quotes} == {
        "in the output",
        "not in the text",
        "too short to prove anything",
    }
    assert sheet.to_json()["warning"] == sheet.warning
    assert sheet_of(flood(), await judged(scored())).warning is None


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
