-- Assessments that differ in little share one text. A payload may have gaps, control characters that JSON texts never
-- contain: the judgment's id (1), its item (2), its judge (3), its digest (4) and its signals (5). The signals stand in
-- five columns of parts, whose values repeat. A row without parts has its whole payload. The view fills the gaps.
ALTER TABLE assessments RENAME TO assessment_rows;
ALTER TABLE assessment_rows ADD COLUMN signals_1 VARCHAR;
ALTER TABLE assessment_rows ADD COLUMN signals_2 VARCHAR;
ALTER TABLE assessment_rows ADD COLUMN signals_3 VARCHAR;
ALTER TABLE assessment_rows ADD COLUMN signals_4 VARCHAR;
ALTER TABLE assessment_rows ADD COLUMN signals_5 VARCHAR;
CREATE VIEW assessments AS SELECT assessment_id, key_hash, key, run_id, created_at, judgment_digest, judgment_id, item_id,
    judge, status, final_score, accepted, strategy, panel_digest,
    CASE WHEN signals_1 IS NULL THEN payload ELSE
        replace(replace(replace(replace(replace(payload,
            chr(5), '{' || substr(concat(signals_1, signals_2, signals_3, signals_4, signals_5), 2) || '}'),
            chr(4), to_json(judgment_digest)::VARCHAR), chr(3), to_json(judge)::VARCHAR),
            chr(2), to_json(item_id)::VARCHAR), chr(1), to_json(judgment_id)::VARCHAR)
    END AS payload, redacted
FROM assessment_rows;

-- So do annotations of judgments that a policy decides by their numbers: the probability (1), the value decided on (2), the
-- one without an adjustment (3), the margin (4), and the probability in words (5).
ALTER TABLE annotations RENAME TO annotation_rows;
ALTER TABLE annotation_rows ADD COLUMN gaps BOOLEAN;
ALTER TABLE annotation_rows ADD COLUMN value DOUBLE;
ALTER TABLE annotation_rows ADD COLUMN unadjusted DOUBLE;
ALTER TABLE annotation_rows ADD COLUMN margin DOUBLE;
CREATE VIEW annotations AS SELECT annotation_id, assessment_id, run_id, created_at, status, accepted, calibration,
    probability, policy, policy_digest, action,
    CASE WHEN gaps THEN
        replace(replace(replace(replace(replace(payload, chr(1), coalesce(probability::VARCHAR, 'null')),
            chr(2), coalesce(value::VARCHAR, 'null')), chr(3), coalesce(unadjusted::VARCHAR, 'null')),
            chr(4), coalesce(margin::VARCHAR, 'null')),
            chr(5), 'the probability ' || format('{:.4g}', coalesce(probability, 0)) || ' ')
    ELSE payload END AS payload, redacted
FROM annotation_rows;
