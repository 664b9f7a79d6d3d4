-- What a statement says of conflicts holds in its triggers, too; ON CONFLICT of a trigger's own statement does not change.
DROP TRIGGER queue_annotations;
CREATE TRIGGER queue_annotations AFTER INSERT ON annotations WHEN new.action IS NOT NULL BEGIN
    INSERT INTO event_queue VALUES ('annotation', new.annotation_id) ON CONFLICT DO NOTHING;
END;
DROP TRIGGER queue_audit_log;
CREATE TRIGGER queue_audit_log AFTER INSERT ON audit_log WHEN new.kind IN ('case', 'clash') BEGIN
    INSERT INTO event_queue VALUES ('audit', new.entry_id) ON CONFLICT DO NOTHING;
END;
DROP TRIGGER queue_review_decisions;
CREATE TRIGGER queue_review_decisions AFTER INSERT ON review_decisions BEGIN
    INSERT INTO event_queue VALUES ('decision', new.decision_id) ON CONFLICT DO NOTHING;
END;
DROP TRIGGER queue_review_events;
CREATE TRIGGER queue_review_events AFTER INSERT ON review_events WHEN new.kind = 'amend' BEGIN
    INSERT INTO event_queue VALUES ('amendment', new.event_id) ON CONFLICT DO NOTHING;
END;

-- Mostly an assessment is the first one of its judgment and panel: then a line is added, and nothing else is looked for.
DROP TRIGGER add_lines_of_assessments;
CREATE TRIGGER add_lines_of_first_assessments AFTER INSERT ON assessments
WHEN NOT EXISTS (SELECT 1 FROM assessments WHERE judgment_digest = new.judgment_digest
        AND panel_digest = new.panel_digest AND assessment_id <> new.assessment_id)
BEGIN
    INSERT INTO lines VALUES (new.assessment_id, new.assessment_id, new.created_at, new.run_id, new.judgment_id,
        new.item_id, new.judge, new.status, new.accepted, new.strategy, new.panel_digest, NULL, NULL);
END;
CREATE TRIGGER add_lines_of_assessments AFTER INSERT ON assessments
WHEN EXISTS (SELECT 1 FROM assessments WHERE judgment_digest = new.judgment_digest
        AND panel_digest = new.panel_digest AND assessment_id <> new.assessment_id)
BEGIN
    DELETE FROM lines WHERE assessment_id IN (SELECT assessment_id FROM assessments
        WHERE judgment_digest = new.judgment_digest AND panel_digest = new.panel_digest
            AND assessment_id < new.assessment_id);
    INSERT INTO lines SELECT new.assessment_id, new.assessment_id, new.created_at, new.run_id, new.judgment_id,
        new.item_id, new.judge, new.status, new.accepted, new.strategy, new.panel_digest, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM assessments WHERE judgment_digest = new.judgment_digest
        AND panel_digest = new.panel_digest AND assessment_id > new.assessment_id);
END;
