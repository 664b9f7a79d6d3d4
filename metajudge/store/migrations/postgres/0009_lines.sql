-- The current version of each judgment by each panel, in short columns: what lists, filters and counts read. Derived from
-- assessments and annotations by triggers.
CREATE TABLE lines (
    number BIGINT PRIMARY KEY,
    assessment_id BIGINT NOT NULL,
    created_at FLOAT8 NOT NULL,
    run_id VARCHAR NOT NULL,
    judgment_id VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    accepted BOOLEAN,
    strategy VARCHAR NOT NULL,
    panel_digest VARCHAR NOT NULL,
    policy VARCHAR,
    action VARCHAR
);
INSERT INTO lines
SELECT coalesce(n.annotation_id, a.assessment_id), a.assessment_id, coalesce(n.created_at, a.created_at),
    coalesce(n.run_id, a.run_id), a.judgment_id, a.item_id, a.judge, coalesce(n.status, a.status),
    CASE WHEN n.annotation_id IS NULL THEN a.accepted ELSE n.accepted END, a.strategy, a.panel_digest, n.policy, n.action
FROM (SELECT DISTINCT ON (judgment_digest, panel_digest) * FROM assessments
    ORDER BY judgment_digest, panel_digest, assessment_id DESC) a
LEFT JOIN (SELECT DISTINCT ON (assessment_id) * FROM annotations ORDER BY assessment_id, annotation_id DESC) n
    ON n.assessment_id = a.assessment_id;
CREATE INDEX lines_by_assessment ON lines (assessment_id);
CREATE INDEX lines_by_judge ON lines (judge, number);
CREATE INDEX lines_by_panel ON lines (panel_digest, number);
CREATE INDEX lines_by_item ON lines USING hash (item_id);
CREATE INDEX lines_by_judgment ON lines USING hash (judgment_id);
CREATE INDEX lines_by_action ON lines (action, number) WHERE action IS NOT NULL;
CREATE INDEX lines_by_status ON lines (status, number) WHERE status <> 'assessed';
CREATE INDEX lines_by_time ON lines (created_at);
CREATE INDEX assessments_by_run ON assessments (run_id, assessment_id);
CREATE INDEX annotations_by_run ON annotations (run_id, annotation_id);

CREATE FUNCTION add_lines_of_assessments() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
    DELETE FROM lines WHERE assessment_id IN (SELECT earlier.assessment_id FROM added
        JOIN assessments earlier ON earlier.judgment_digest = added.judgment_digest AND earlier.panel_digest = added.panel_digest
            AND earlier.assessment_id < added.assessment_id);
    INSERT INTO lines SELECT assessment_id, assessment_id, created_at, run_id, judgment_id, item_id, judge, status,
        accepted, strategy, panel_digest, NULL, NULL FROM added WHERE NOT EXISTS (SELECT 1 FROM assessments later
            WHERE later.judgment_digest = added.judgment_digest AND later.panel_digest = added.panel_digest
            AND later.assessment_id > added.assessment_id);
    RETURN NULL;
END $$;
CREATE TRIGGER add_lines AFTER INSERT ON assessments REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION add_lines_of_assessments();
CREATE FUNCTION add_lines_of_annotations() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
    WITH newest AS (SELECT DISTINCT ON (assessment_id) * FROM added ORDER BY assessment_id, annotation_id DESC),
    earlier AS (DELETE FROM lines USING newest WHERE lines.assessment_id = newest.assessment_id
        AND lines.number < newest.annotation_id RETURNING lines.*)
    INSERT INTO lines SELECT n.annotation_id, n.assessment_id, n.created_at, n.run_id, earlier.judgment_id, earlier.item_id,
        earlier.judge, n.status, n.accepted, earlier.strategy, earlier.panel_digest, n.policy, n.action
    FROM newest n JOIN earlier ON earlier.assessment_id = n.assessment_id;
    RETURN NULL;
END $$;
CREATE TRIGGER add_lines AFTER INSERT ON annotations REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION add_lines_of_annotations();
