-- Append-only memory of vetting. Texts live in the payload, reply_text and failure_message columns alone, so
-- that forgetting an item touches nothing else. A *_hash column is the first 64 bits of a BLAKE2b digest of
-- the key beside it: a lookup through it is several times faster than one through the text itself.

CREATE TABLE items (
    item_digest VARCHAR PRIMARY KEY,
    item_id VARCHAR NOT NULL,
    category VARCHAR,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL
);

-- The payload leaves out the item, which the digest points to.
CREATE TABLE judgments (
    judgment_digest VARCHAR PRIMARY KEY,
    judgment_id VARCHAR NOT NULL,
    item_digest VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL
);

-- One row for each HTTP attempt. The newest one that succeeded under a key is the cached reply.
CREATE TABLE calls (
    call_id BIGINT PRIMARY KEY,
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
    redacted BOOLEAN NOT NULL
);
CREATE INDEX calls_by_key ON calls (key_hash);

CREATE TABLE assessments (
    assessment_id BIGINT PRIMARY KEY,
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
CREATE INDEX assessments_by_key ON assessments (key_hash);

-- The agents' numbers, one row a result, for analysis in SQL; stage is agent, opening or summariser, criteria
-- a JSON object of scores by name.
CREATE TABLE agent_scores (
    assessment_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    stage VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    role VARCHAR,
    weight DOUBLE NOT NULL,
    score DOUBLE,
    criteria VARCHAR,
    failure_kind VARCHAR,
    skipped VARCHAR,
    calls INTEGER NOT NULL,
    cached_calls INTEGER NOT NULL,
    cost_usd DOUBLE,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    latency_s DOUBLE NOT NULL,
    request_key VARCHAR
);

-- A run's start is a row here, everything later an event: history is added to, never changed.
CREATE TABLE runs (
    run_id VARCHAR PRIMARY KEY,
    command VARCHAR NOT NULL,
    started_at DOUBLE NOT NULL,
    config VARCHAR NOT NULL
);
CREATE TABLE run_events (
    event_id BIGINT PRIMARY KEY,
    run_id VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    occurred_at DOUBLE,
    summary VARCHAR
);

-- The last segment of the write-ahead log whose records are in the tables above: one row, set in every commit.
CREATE TABLE write_ahead (committed BIGINT NOT NULL);
INSERT INTO write_ahead VALUES (0);
