-- Facts with the question of their item, which several items may ask. They are derived, and are added anew.
DROP TABLE line_facts;
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
    answer VARCHAR,
    question BIGINT
);
