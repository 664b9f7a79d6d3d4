-- The current version of each judgment by each panel, in short columns: what lists, filters and counts read. Derived from
-- assessments and annotations; rebuilt when the file is opened and the newest version is missing.
CREATE TABLE lines (
    number BIGINT NOT NULL,
    assessment_id BIGINT NOT NULL,
    created_at DOUBLE NOT NULL,
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
