-- What a calibration and a policy say of an assessment, beside what its panel found. Numbers of assessments and
-- annotations are one sequence; an assessment's newest annotation counts. The payload holds the fields of the
-- assessment that the annotation sets.
CREATE TABLE annotations (
    annotation_id BIGINT PRIMARY KEY,
    assessment_id BIGINT NOT NULL,
    run_id VARCHAR NOT NULL,
    created_at FLOAT8 NOT NULL,
    status VARCHAR NOT NULL,
    accepted BOOLEAN,
    calibration VARCHAR,
    probability FLOAT8,
    policy VARCHAR,
    policy_digest VARCHAR,
    action VARCHAR,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL
);
CREATE INDEX annotations_by_assessment ON annotations (assessment_id, annotation_id);

-- Earlier versions kept an annotated assessment as a second row. Such a row becomes an annotation of the row before it
-- that has none, or of itself where there is no such row. What else differs from that row stays in the payload.
CREATE TABLE rows_to_move AS
WITH read AS (
    SELECT assessment_id, judgment_digest, panel_digest, final_score,
        payload::json->>'calibration' IS NOT NULL OR payload::json->'decision'->>'action' IS NOT NULL AS annotated,
        md5(concat_ws(' ', payload::json->>'agents', payload::json->>'summariser', payload::json->>'signals',
            payload::json->>'cascade', payload::json->>'calls', payload::json->>'cached_calls',
            payload::json->>'cost_usd', payload::json->>'usage', payload::json->>'metajudge_version',
            payload::json->>'score_bounds', payload::json->>'renormalised')) AS rest
    FROM assessments
), placed AS (
    SELECT *, max(CASE WHEN annotated THEN NULL ELSE assessment_id END) OVER (
        PARTITION BY judgment_digest, panel_digest ORDER BY assessment_id) AS base
    FROM read
)
SELECT s.assessment_id AS old_id, coalesce(b.assessment_id, s.assessment_id) AS assessment_id,
    b.assessment_id IS NULL OR b.rest = s.rest AS same,
    CASE WHEN b.assessment_id IS NOT NULL THEN s.assessment_id
        ELSE nextval(pg_get_serial_sequence('assessments', 'assessment_id')) END AS annotation_id
FROM placed s LEFT JOIN read b ON b.assessment_id = s.base AND b.final_score IS NOT DISTINCT FROM s.final_score
WHERE s.annotated;

INSERT INTO annotations
SELECT m.annotation_id, m.assessment_id, run_id, created_at, status, accepted, payload::json->>'calibration',
    (payload::json->>'probability')::FLOAT8, payload::json->'decision'->>'policy',
    payload::json->'decision'->>'policy_digest', payload::json->'decision'->>'action',
    CASE WHEN same THEN json_build_object('status', payload::json->'status', 'accepted', payload::json->'accepted',
        'failure', payload::json->'failure', 'probability', payload::json->'probability',
        'probability_marks', coalesce(payload::json->'probability_marks', '[]'::json),
        'calibrated', coalesce(payload::json->'calibrated', 'false'::json),
        'calibration', payload::json->'calibration', 'guarantee', payload::json->'guarantee',
        'decision', payload::json->'decision')::text ELSE payload END,
    redacted
FROM rows_to_move m JOIN assessments s ON s.assessment_id = m.old_id ORDER BY m.annotation_id;

DELETE FROM agent_scores WHERE assessment_id IN (SELECT old_id FROM rows_to_move WHERE old_id <> assessment_id);
DELETE FROM assessments WHERE assessment_id IN (SELECT old_id FROM rows_to_move WHERE old_id <> assessment_id);
DROP TABLE rows_to_move;
