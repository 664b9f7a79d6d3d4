-- What a calibration and a policy say of an assessment, beside what its panel found. Numbers of assessments and
-- annotations are one sequence; an assessment's newest annotation counts. The payload holds the fields of the
-- assessment that the annotation sets.
CREATE TABLE annotations (
    annotation_id BIGINT NOT NULL,
    assessment_id BIGINT NOT NULL,
    run_id VARCHAR NOT NULL,
    created_at DOUBLE NOT NULL,
    status VARCHAR NOT NULL,
    accepted BOOLEAN,
    calibration VARCHAR,
    probability DOUBLE,
    policy VARCHAR,
    policy_digest VARCHAR,
    action VARCHAR,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL
);

-- Earlier versions kept an annotated assessment as a second row. Such a row becomes an annotation of the row before it
-- that has none, or of itself where there is no such row. What else differs from that row stays in the payload.
CREATE TABLE rows_to_move AS
WITH read AS (
    SELECT assessment_id, judgment_digest, panel_digest, final_score,
        payload->>'$.calibration' IS NOT NULL OR payload->>'$.decision.action' IS NOT NULL AS annotated,
        md5(json_merge_patch(payload, '{"status": null, "accepted": null, "failure": null, "probability": null,
            "probability_marks": null, "calibrated": null, "calibration": null, "guarantee": null, "decision": null}'
        )::VARCHAR) AS rest
    FROM assessments
), placed AS (
    SELECT *, max(CASE WHEN annotated THEN NULL ELSE assessment_id END) OVER (
        PARTITION BY judgment_digest, panel_digest ORDER BY assessment_id) AS base
    FROM read
)
SELECT s.assessment_id AS old_id, coalesce(b.assessment_id, s.assessment_id) AS assessment_id,
    b.assessment_id IS NULL OR b.rest = s.rest AS same,
    CASE WHEN b.assessment_id IS NOT NULL THEN s.assessment_id
        ELSE (SELECT max(assessment_id) FROM assessments) + row_number() OVER (ORDER BY s.assessment_id)
    END AS annotation_id
FROM placed s LEFT JOIN read b ON b.assessment_id = s.base AND b.final_score IS NOT DISTINCT FROM s.final_score
WHERE s.annotated;

INSERT INTO annotations
SELECT m.annotation_id, m.assessment_id, run_id, created_at, status, accepted, payload->>'$.calibration',
    (payload->>'$.probability')::DOUBLE, payload->>'$.decision.policy', payload->>'$.decision.policy_digest',
    payload->>'$.decision.action',
    CASE WHEN same THEN json_object('status', payload->'$.status', 'accepted', payload->'$.accepted',
        'failure', payload->'$.failure', 'probability', payload->'$.probability',
        'probability_marks', coalesce(payload->'$.probability_marks', '[]'::JSON),
        'calibrated', coalesce(payload->'$.calibrated', 'false'::JSON),
        'calibration', payload->'$.calibration', 'guarantee', payload->'$.guarantee',
        'decision', payload->'$.decision')::VARCHAR ELSE payload END,
    redacted
FROM rows_to_move m JOIN assessments s ON s.assessment_id = m.old_id ORDER BY m.annotation_id;

DELETE FROM agent_scores WHERE assessment_id IN (SELECT old_id FROM rows_to_move WHERE old_id <> assessment_id);
DELETE FROM assessments WHERE assessment_id IN (SELECT old_id FROM rows_to_move WHERE old_id <> assessment_id);
DROP TABLE rows_to_move;
