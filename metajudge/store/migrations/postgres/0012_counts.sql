-- How many versions there are of each kind, which pages show without a pass over all of them (metajudge/store/counts.py).
-- subject is what is counted: line (a current version), assessment, or annotation (of an assessment of another run; only
-- run_id is given). Triggers add rows without a key, which no two writers contend for. Now and then one writer folds
-- these into rows with a key, a digest of all that is alike; sums over rows of both sorts are exact at any time.
CREATE TABLE version_counts (
    key VARCHAR UNIQUE,
    subject VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    day INTEGER,
    panel_digest VARCHAR,
    strategy VARCHAR,
    judge VARCHAR,
    status VARCHAR,
    accepted BOOLEAN,
    policy VARCHAR,
    action VARCHAR,
    n BIGINT NOT NULL
);
LOCK TABLE assessments, annotations, lines IN SHARE ROW EXCLUSIVE MODE;

CREATE FUNCTION fold_version_counts() RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
    IF pg_try_advisory_xact_lock(hashtextextended('metajudge counts ' || current_schema(), 0)) THEN
        WITH gone AS (DELETE FROM version_counts WHERE key IS NULL RETURNING *)
        INSERT INTO version_counts
        SELECT md5(ROW(subject, run_id, day, panel_digest, strategy, judge, status, accepted, policy, action)::VARCHAR),
            subject, run_id, day, panel_digest, strategy, judge, status, accepted, policy, action, sum(n)
        FROM gone GROUP BY subject, run_id, day, panel_digest, strategy, judge, status, accepted, policy, action
        ON CONFLICT (key) DO UPDATE SET n = version_counts.n + excluded.n;
    END IF;
END $$;

CREATE FUNCTION count_added_lines() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
    INSERT INTO version_counts
    SELECT NULL, 'line', run_id, floor(created_at / 86400)::INTEGER, panel_digest, strategy, judge, status, accepted,
        policy, action, count(*) FROM added GROUP BY 3, 4, 5, 6, 7, 8, 9, 10, 11;
    IF random() < 0.02 THEN
        PERFORM fold_version_counts();
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER count_added AFTER INSERT ON lines REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_added_lines();
CREATE FUNCTION count_deleted_lines() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
    INSERT INTO version_counts
    SELECT NULL, 'line', run_id, floor(created_at / 86400)::INTEGER, panel_digest, strategy, judge, status, accepted,
        policy, action, -count(*) FROM gone GROUP BY 3, 4, 5, 6, 7, 8, 9, 10, 11;
    RETURN NULL;
END $$;
CREATE TRIGGER count_deleted AFTER DELETE ON lines REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_lines();
CREATE FUNCTION count_assessments() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
    INSERT INTO version_counts (subject, run_id, panel_digest, strategy, judge, n)
    SELECT 'assessment', run_id, panel_digest, strategy, judge, count(*) FROM added GROUP BY 2, 3, 4, 5;
    RETURN NULL;
END $$;
CREATE TRIGGER count_added AFTER INSERT ON assessments REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_assessments();
CREATE FUNCTION count_annotations() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
    INSERT INTO version_counts (subject, run_id, n)
    SELECT 'annotation', added.run_id, count(*) FROM added JOIN assessments a ON a.assessment_id = added.assessment_id
    WHERE a.run_id <> added.run_id GROUP BY 2;
    RETURN NULL;
END $$;
CREATE TRIGGER count_added AFTER INSERT ON annotations REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_annotations();

INSERT INTO version_counts
SELECT NULL, 'line', run_id, floor(created_at / 86400)::INTEGER, panel_digest, strategy, judge, status, accepted, policy,
    action, count(*) FROM lines GROUP BY 3, 4, 5, 6, 7, 8, 9, 10, 11;
INSERT INTO version_counts (subject, run_id, panel_digest, strategy, judge, n)
SELECT 'assessment', run_id, panel_digest, strategy, judge, count(*) FROM assessments GROUP BY 2, 3, 4, 5;
INSERT INTO version_counts (subject, run_id, n)
SELECT 'annotation', n.run_id, count(*) FROM annotations n JOIN assessments a ON a.assessment_id = n.assessment_id
WHERE a.run_id <> n.run_id GROUP BY 2;
SELECT fold_version_counts();
