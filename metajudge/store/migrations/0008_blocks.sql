-- Texts compressed by zstd, a few thousand rows together: less than a third of the bytes, and cheaper to write than the
-- compression that DuckDB chooses by itself.
CREATE TABLE small_items (
    item_digest VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    category VARCHAR,
    payload VARCHAR USING COMPRESSION zstd NOT NULL,
    redacted BOOLEAN NOT NULL
);
INSERT INTO small_items SELECT * FROM items;
DROP TABLE items;
ALTER TABLE small_items RENAME TO items;

CREATE TABLE small_judgments (
    judgment_digest VARCHAR NOT NULL,
    judgment_id VARCHAR NOT NULL,
    item_digest VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    payload VARCHAR USING COMPRESSION zstd NOT NULL,
    redacted BOOLEAN NOT NULL
);
INSERT INTO small_judgments SELECT * FROM judgments;
DROP TABLE judgments;
ALTER TABLE small_judgments RENAME TO judgments;

CREATE TABLE small_assessments (
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
    payload VARCHAR USING COMPRESSION zstd NOT NULL,
    redacted BOOLEAN NOT NULL
);
INSERT INTO small_assessments SELECT * FROM assessments;
DROP TABLE assessments;
ALTER TABLE small_assessments RENAME TO assessments;

CREATE TABLE small_annotations (
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
    payload VARCHAR USING COMPRESSION zstd NOT NULL,
    redacted BOOLEAN NOT NULL
);
INSERT INTO small_annotations SELECT * FROM annotations;
DROP TABLE annotations;
ALTER TABLE small_annotations RENAME TO annotations;

-- Caches of what a run learned about its input: facts about some thousand lines (lines: their digests of 16 bytes, one
-- after the other; facts: a JSON array), and the numbers of the versions that are the results of a block of lines.
CREATE TABLE input_facts (
    segment BIGINT NOT NULL,
    lines BLOB NOT NULL,
    facts VARCHAR USING COMPRESSION zstd NOT NULL
);
CREATE TABLE input_results (
    segment BIGINT NOT NULL,
    block BLOB NOT NULL,
    numbers BLOB NOT NULL
);
