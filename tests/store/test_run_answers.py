"""What finished runs came to: kept by key, and given back while the store is as it was."""

from metajudge.store.answers import RunAnswers


async def test_an_answer_is_given_until_anything_else_is_kept(store, records):
    answers, judgment = RunAnswers(store), records.judgment(1)
    assert await answers.find("k") is None
    await answers.keep("k", b'{"a": 1}')
    assert (await answers.find("k"), await answers.find("other")) == (b'{"a": 1}', None)
    await store.save_assessment("key", judgment, records.assessment(judgment, 1), "run")
    assert await answers.find("k") is None
    await answers.keep("k", b'{"a": 2}')
    assert await answers.find("k") == b'{"a": 2}'
    await store.audit_log.append("calibration", "digest", {}, now=1.0)
    assert await answers.find("k") is None
