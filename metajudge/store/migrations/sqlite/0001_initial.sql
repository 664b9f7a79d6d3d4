-- The tables of a store in an SQLite file, under the same names and columns as in PostgreSQL. Texts live in payload,
-- reply_text and failure_message alone, so that forgetting an item touches nothing else. PACKED columns are compressed
-- (metajudge/store/sqlite.py).
CREATE TABLE items (
    item_digest VARCHAR NOT NULL PRIMARY KEY,
    item_id VARCHAR NOT NULL,
    category VARCHAR,
    payload PACKED TEXT NOT NULL,
    redacted BOOLEAN NOT NULL
);
CREATE INDEX items_by_id ON items (item_id);
CREATE TABLE judgments (
    judgment_digest VARCHAR NOT NULL PRIMARY KEY,
    judgment_id VARCHAR NOT NULL,
    item_digest VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    payload PACKED TEXT NOT NULL,
    redacted BOOLEAN NOT NULL
);
CREATE INDEX judgments_by_id ON judgments (judgment_id);
CREATE INDEX judgments_by_item ON judgments (item_id);
CREATE TABLE calls (
    call_id INTEGER PRIMARY KEY,
    key VARCHAR NOT NULL,
    run_id VARCHAR,
    endpoint VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    draw INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    status VARCHAR NOT NULL,
    started_at FLOAT8 NOT NULL,
    latency_s FLOAT8 NOT NULL,
    reply_text PACKED TEXT,
    reply_model VARCHAR,
    finish VARCHAR,
    input_tokens BIGINT,
    cached_tokens BIGINT,
    cache_write_tokens BIGINT,
    output_tokens BIGINT,
    cost_usd FLOAT8,
    failure_kind VARCHAR,
    failure_message VARCHAR,
    http_status INTEGER,
    redacted BOOLEAN NOT NULL,
    token_probabilities VARCHAR
);
CREATE INDEX calls_by_key ON calls (key);
-- Numbers of assessments and annotations are one sequence.
CREATE TABLE assessments (
    assessment_id INTEGER PRIMARY KEY,
    key VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    created_at FLOAT8 NOT NULL,
    judgment_digest VARCHAR NOT NULL,
    judgment_id VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    final_score FLOAT8,
    accepted BOOLEAN,
    strategy VARCHAR NOT NULL,
    panel_digest VARCHAR NOT NULL,
    payload PACKED TEXT NOT NULL,
    redacted BOOLEAN NOT NULL
);
CREATE INDEX assessments_by_key ON assessments (key);
CREATE INDEX assessments_by_judgment ON assessments (judgment_digest);
CREATE INDEX assessments_by_item ON assessments (item_id);
CREATE INDEX assessments_by_run ON assessments (run_id);
CREATE TABLE agent_scores (
    assessment_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    stage VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    role VARCHAR,
    weight FLOAT8 NOT NULL,
    score FLOAT8,
    criteria VARCHAR,
    failure_kind VARCHAR,
    skipped VARCHAR,
    calls INTEGER NOT NULL,
    cached_calls INTEGER NOT NULL,
    cost_usd FLOAT8,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    latency_s FLOAT8 NOT NULL,
    request_key VARCHAR
);
CREATE INDEX agent_scores_by_assessment ON agent_scores (assessment_id);
-- What a calibration and a policy say of an assessment; the newest of an assessment counts.
CREATE TABLE annotations (
    annotation_id INTEGER PRIMARY KEY,
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
    payload PACKED TEXT NOT NULL,
    redacted BOOLEAN NOT NULL
);
CREATE INDEX annotations_by_assessment ON annotations (assessment_id);
CREATE INDEX annotations_by_run ON annotations (run_id);
-- The current version of each judgment by each panel in short columns: what lists, filters and counts read.
CREATE TABLE lines (
    number INTEGER PRIMARY KEY,
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
CREATE INDEX lines_by_assessment ON lines (assessment_id);
CREATE INDEX lines_by_item ON lines (item_id);
CREATE INDEX lines_by_action ON lines (action, number) WHERE action IS NOT NULL;
CREATE INDEX lines_by_status ON lines (status, number) WHERE status <> 'assessed';
CREATE TRIGGER add_lines_of_assessments AFTER INSERT ON assessments BEGIN
    DELETE FROM lines WHERE assessment_id IN (SELECT assessment_id FROM assessments
        WHERE judgment_digest = new.judgment_digest AND panel_digest = new.panel_digest
            AND assessment_id < new.assessment_id);
    INSERT INTO lines SELECT new.assessment_id, new.assessment_id, new.created_at, new.run_id, new.judgment_id,
        new.item_id, new.judge, new.status, new.accepted, new.strategy, new.panel_digest, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM assessments WHERE judgment_digest = new.judgment_digest
        AND panel_digest = new.panel_digest AND assessment_id > new.assessment_id);
END;
CREATE TRIGGER add_lines_of_annotations AFTER INSERT ON annotations BEGIN
    INSERT INTO lines SELECT new.annotation_id, new.assessment_id, new.created_at, new.run_id, judgment_id, item_id,
        judge, new.status, new.accepted, strategy, panel_digest, new.policy, new.action
    FROM lines WHERE assessment_id = new.assessment_id AND number < new.annotation_id;
    DELETE FROM lines WHERE assessment_id = new.assessment_id AND number < new.annotation_id;
END;
-- What figures over verdicts and labels need of each current version (metajudge/store/line_facts.py).
CREATE TABLE line_facts (
    number INTEGER PRIMARY KEY,
    assessment_id BIGINT NOT NULL,
    judgment BIGINT NOT NULL,
    item BIGINT,
    created_at FLOAT8 NOT NULL,
    final_score FLOAT8,
    probability FLOAT8,
    threshold FLOAT8 NOT NULL,
    accepted BOOLEAN,
    correct BOOLEAN,
    panel_digest VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    policy VARCHAR,
    kind VARCHAR,
    graded VARCHAR,
    answer VARCHAR,
    question BIGINT
);
CREATE TRIGGER drop_line_facts AFTER DELETE ON lines BEGIN
    DELETE FROM line_facts WHERE number = old.number;
END;
CREATE TABLE runs (
    run_id VARCHAR NOT NULL PRIMARY KEY,
    command VARCHAR NOT NULL,
    started_at FLOAT8 NOT NULL,
    config VARCHAR NOT NULL,
    writer_id BIGINT
);
CREATE TABLE run_events (
    event_id INTEGER PRIMARY KEY,
    run_id VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    occurred_at FLOAT8,
    summary VARCHAR
);
CREATE INDEX run_events_by_run ON run_events (run_id);
CREATE TABLE reviews (
    review_id VARCHAR NOT NULL PRIMARY KEY,
    subject_id VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    judge VARCHAR,
    category VARCHAR,
    policy_digest VARCHAR,
    priority INTEGER NOT NULL,
    margin FLOAT8,
    opened_at FLOAT8 NOT NULL,
    reviewers INTEGER NOT NULL,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL
);
CREATE INDEX reviews_by_item ON reviews (item_id);
CREATE INDEX reviews_by_time ON reviews (opened_at, review_id);
CREATE TABLE review_claims (
    claim_id INTEGER PRIMARY KEY,
    review_id VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    claimed_at FLOAT8 NOT NULL,
    expires_at FLOAT8 NOT NULL
);
CREATE INDEX review_claims_by_review ON review_claims (review_id);
CREATE TABLE review_decisions (
    decision_id INTEGER PRIMARY KEY,
    review_id VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    decided_at FLOAT8 NOT NULL,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL,
    UNIQUE (review_id, reviewer)
);
-- kind is amend (payload: the new decision, which replaces the person's earlier one), comment, assign or unassign.
CREATE TABLE review_events (
    event_id INTEGER PRIMARY KEY,
    review_id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    recorded_at FLOAT8 NOT NULL,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL
);
CREATE INDEX review_events_by_review ON review_events (review_id);
CREATE TABLE audit_log (
    entry_id INTEGER PRIMARY KEY,
    kind VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    recorded_at FLOAT8 NOT NULL,
    payload VARCHAR NOT NULL
);
CREATE INDEX audit_log_by_kind ON audit_log (kind, entry_id);
CREATE INDEX audit_log_by_subject ON audit_log (subject);
-- Outcomes of judgments, clashes and cases, and other events for receivers, derived from stored decisions.
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    event_id VARCHAR NOT NULL UNIQUE,
    kind VARCHAR NOT NULL,
    subject_id VARCHAR NOT NULL,
    subject_digest VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    decided_by VARCHAR NOT NULL,
    decided_at FLOAT8 NOT NULL,
    policy VARCHAR,
    policy_digest VARCHAR,
    source VARCHAR NOT NULL,
    source_number BIGINT NOT NULL,
    follows VARCHAR,
    amends VARCHAR,
    details VARCHAR NOT NULL
);
CREATE INDEX events_by_subject ON events (subject_digest, number);
CREATE INDEX events_by_predecessor ON events (follows) WHERE follows IS NOT NULL;
CREATE INDEX events_by_subject_id ON events (subject_id);
CREATE INDEX events_by_item ON events (item_id);
CREATE TABLE receivers (
    receiver VARCHAR NOT NULL PRIMARY KEY,
    host VARCHAR NOT NULL,
    callbacks BOOLEAN NOT NULL,
    first_number BIGINT NOT NULL,
    claimed BIGINT NOT NULL,
    registered_at FLOAT8 NOT NULL
);
CREATE TABLE event_sends (
    receiver VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    state VARCHAR NOT NULL,
    failures INTEGER NOT NULL,
    due_at FLOAT8 NOT NULL,
    holder VARCHAR NOT NULL,
    reason VARCHAR,
    PRIMARY KEY (receiver, number)
);
CREATE TABLE event_deliveries (
    number BIGINT NOT NULL,
    receiver VARCHAR NOT NULL,
    delivered BOOLEAN NOT NULL,
    attempts INTEGER NOT NULL,
    status INTEGER,
    reason VARCHAR,
    ended_at FLOAT8 NOT NULL
);
CREATE INDEX event_deliveries_by_number ON event_deliveries (number);
-- Decisions that are not outcomes yet; a trigger adds them in the transaction of the decision.
CREATE TABLE event_queue (source VARCHAR NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (source, number)) WITHOUT ROWID;
CREATE TRIGGER queue_annotations AFTER INSERT ON annotations WHEN new.action IS NOT NULL BEGIN
    INSERT OR IGNORE INTO event_queue VALUES ('annotation', new.annotation_id);
END;
CREATE TRIGGER queue_audit_log AFTER INSERT ON audit_log WHEN new.kind IN ('case', 'clash') BEGIN
    INSERT OR IGNORE INTO event_queue VALUES ('audit', new.entry_id);
END;
CREATE TRIGGER queue_review_decisions AFTER INSERT ON review_decisions BEGIN
    INSERT OR IGNORE INTO event_queue VALUES ('decision', new.decision_id);
END;
CREATE TRIGGER queue_review_events AFTER INSERT ON review_events WHEN new.kind = 'amend' BEGIN
    INSERT OR IGNORE INTO event_queue VALUES ('amendment', new.event_id);
END;
-- Each opening of the store, with its process.
CREATE TABLE writers (
    writer_id INTEGER PRIMARY KEY AUTOINCREMENT,
    process VARCHAR NOT NULL,
    committed BIGINT NOT NULL DEFAULT 0
);
-- The service: answers by idempotency key, jobs with their items and results, who works on what, and what its
-- replicas share about people in a browser, about limits and about budgets.
CREATE TABLE service_answers (
    owner VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    status INTEGER,
    body BLOB,
    location VARCHAR,
    at FLOAT8 NOT NULL,
    writer_id BIGINT NOT NULL,
    PRIMARY KEY (owner, key)
);
CREATE INDEX service_answers_by_age ON service_answers (at);
CREATE TABLE service_jobs (
    job_id VARCHAR NOT NULL PRIMARY KEY,
    owner VARCHAR NOT NULL,
    request VARCHAR NOT NULL,
    items INTEGER NOT NULL,
    state VARCHAR NOT NULL,
    detail VARCHAR,
    created_at FLOAT8 NOT NULL,
    ended_at FLOAT8
);
CREATE INDEX service_jobs_by_age ON service_jobs (created_at, job_id);
CREATE TABLE service_items (
    job_id VARCHAR NOT NULL REFERENCES service_jobs ON DELETE CASCADE,
    item INTEGER NOT NULL,
    item_id VARCHAR NOT NULL,
    payload PACKED TEXT NOT NULL,
    PRIMARY KEY (job_id, item)
);
CREATE INDEX service_items_by_id ON service_items (job_id, item_id);
CREATE TABLE service_results (
    job_id VARCHAR NOT NULL REFERENCES service_jobs ON DELETE CASCADE,
    item INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    judgment_id VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (job_id, item)
);
CREATE UNIQUE INDEX service_results_as_they_came ON service_results (job_id, seq);
-- A lane (every so-many-th item of a job) is leased to one replica, a row of writers, until held_until; turn orders the
-- lanes that wait.
CREATE TABLE service_lanes (
    turn INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id VARCHAR NOT NULL REFERENCES service_jobs ON DELETE CASCADE,
    lane INTEGER NOT NULL,
    lanes INTEGER NOT NULL,
    writer_id BIGINT,
    held_until FLOAT8,
    UNIQUE (job_id, lane)
);
CREATE TABLE service_secrets (name VARCHAR NOT NULL PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE service_ended_sessions (mark VARCHAR NOT NULL PRIMARY KEY, expires_at FLOAT8 NOT NULL);
CREATE TABLE service_logins (
    address VARCHAR NOT NULL,
    minute BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    PRIMARY KEY (address, minute)
);
CREATE TABLE service_limits (name VARCHAR NOT NULL PRIMARY KEY, state VARCHAR NOT NULL);
