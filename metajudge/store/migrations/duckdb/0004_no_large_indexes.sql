-- The large tables without keys and indexes, which grew in memory with every row: which row belongs to a
-- key is in memory, and rows are numbered in the order in which they stand, so that DuckDB finds a number by itself.
CREATE TABLE plain_items (
    item_digest VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    category VARCHAR,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL
);
INSERT INTO plain_items SELECT * FROM items;
DROP TABLE items;
ALTER TABLE plain_items RENAME TO items;

CREATE TABLE plain_judgments (
    judgment_digest VARCHAR NOT NULL,
    judgment_id VARCHAR NOT NULL,
    item_digest VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL
);
INSERT INTO plain_judgments SELECT * FROM judgments;
DROP TABLE judgments;
ALTER TABLE plain_judgments RENAME TO judgments;

CREATE TABLE plain_calls (
    call_id BIGINT NOT NULL,
    key_hash UBIGINT NOT NULL,
    key VARCHAR NOT NULL,
    run_id VARCHAR,
    endpoint VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    draw INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    status VARCHAR NOT NULL,
    started_at DOUBLE NOT NULL,
    latency_s DOUBLE NOT NULL,
    reply_text VARCHAR,
    reply_model VARCHAR,
    finish VARCHAR,
    input_tokens BIGINT,
    cached_tokens BIGINT,
    cache_write_tokens BIGINT,
    output_tokens BIGINT,
    cost_usd DOUBLE,
    failure_kind VARCHAR,
    failure_message VARCHAR,
    http_status INTEGER,
    redacted BOOLEAN NOT NULL,
    token_probabilities VARCHAR
);
INSERT INTO plain_calls SELECT * FROM calls;
DROP TABLE calls;
ALTER TABLE plain_calls RENAME TO calls;

CREATE TABLE plain_assessments (
    assessment_id BIGINT NOT NULL,
    key_hash UBIGINT NOT NULL,
    key VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    created_at DOUBLE NOT NULL,
    judgment_digest VARCHAR NOT NULL,
    judgment_id VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    final_score DOUBLE,
    accepted BOOLEAN,
    strategy VARCHAR NOT NULL,
    panel_digest VARCHAR NOT NULL,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL
);
INSERT INTO plain_assessments SELECT * FROM assessments;
DROP TABLE assessments;
ALTER TABLE plain_assessments RENAME TO assessments;
