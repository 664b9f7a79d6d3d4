-- What several replicas of the service share: answers by idempotency key, jobs with their items and results. Who works
-- on an answer is a row of writers; seq numbers a job's results in the order in which they were committed.

CREATE TABLE service_answers (
    owner VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    status INTEGER,
    body BYTEA,
    location VARCHAR,
    at FLOAT8 NOT NULL,
    writer_id BIGINT NOT NULL,
    PRIMARY KEY (owner, key)
);
CREATE INDEX service_answers_by_age ON service_answers (at);

CREATE TABLE service_jobs (
    job_id VARCHAR PRIMARY KEY,
    owner VARCHAR NOT NULL,
    request VARCHAR NOT NULL,
    items INTEGER NOT NULL,
    state VARCHAR NOT NULL,
    detail VARCHAR,
    created_at FLOAT8 NOT NULL,
    ended_at FLOAT8
);
CREATE INDEX service_jobs_by_age ON service_jobs (created_at, job_id);

-- The upload; gone once the job has ended.
CREATE TABLE service_items (
    job_id VARCHAR NOT NULL REFERENCES service_jobs ON DELETE CASCADE,
    item INTEGER NOT NULL,
    item_id VARCHAR NOT NULL,
    payload VARCHAR NOT NULL,
    PRIMARY KEY (job_id, item)
);

CREATE TABLE service_results (
    job_id VARCHAR NOT NULL REFERENCES service_jobs ON DELETE CASCADE,
    item INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    judgment_id VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    payload BYTEA NOT NULL,
    PRIMARY KEY (job_id, item)
);
CREATE UNIQUE INDEX service_results_as_they_came ON service_results (job_id, seq);
