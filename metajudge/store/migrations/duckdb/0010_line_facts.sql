-- What figures over verdicts and labels need of each current version, in short columns. Derived from texts that never
-- change; rows that are missing are added while nobody waits for them (metajudge/store/line_facts.py). judgment and item
-- are hashes of the digests; item is null where the judgment's texts are not stored.
CREATE TABLE line_facts (
    number BIGINT NOT NULL,
    assessment_id BIGINT NOT NULL,
    judgment BIGINT NOT NULL,
    item BIGINT,
    created_at DOUBLE NOT NULL,
    final_score DOUBLE,
    probability DOUBLE,
    threshold DOUBLE NOT NULL,
    accepted BOOLEAN,
    correct BOOLEAN,
    panel_digest VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    policy VARCHAR,
    kind VARCHAR,
    graded VARCHAR,
    answer VARCHAR
);
