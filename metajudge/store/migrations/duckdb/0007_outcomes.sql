-- Outcomes of judgments, clashes and cases, and other events for receivers, derived from stored decisions. Without keys
-- and indexes, like the other large tables: rows are numbered in the order in which they stand, and the newest row of a
-- subject is found in memory. Append-only.
CREATE TABLE events (
    number BIGINT NOT NULL,
    event_id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    subject_id VARCHAR NOT NULL,
    subject_digest VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    decided_by VARCHAR NOT NULL,
    decided_at DOUBLE NOT NULL,
    policy VARCHAR,
    policy_digest VARCHAR,
    source VARCHAR NOT NULL,
    source_number BIGINT NOT NULL,
    follows VARCHAR,
    amends VARCHAR,
    details VARCHAR NOT NULL
);
-- The last row of each source that was turned into outcomes.
CREATE TABLE event_sources (source VARCHAR NOT NULL, number BIGINT NOT NULL);
-- A receiver gets events above first_number; those up to claimed were sent, or stand in event_sends.
CREATE TABLE receivers (
    receiver VARCHAR NOT NULL,
    host VARCHAR NOT NULL,
    callbacks BOOLEAN NOT NULL,
    first_number BIGINT NOT NULL,
    claimed BIGINT NOT NULL,
    registered_at DOUBLE NOT NULL
);
-- Events that were claimed for a receiver and not accepted yet: few rows, removed on delivery.
CREATE TABLE event_sends (
    receiver VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    state VARCHAR NOT NULL,
    failures INTEGER NOT NULL,
    due_at DOUBLE NOT NULL,
    holder VARCHAR NOT NULL,
    reason VARCHAR
);
-- How each attempt to send ended; append-only.
CREATE TABLE event_deliveries (
    number BIGINT NOT NULL,
    receiver VARCHAR NOT NULL,
    delivered BOOLEAN NOT NULL,
    attempts INTEGER NOT NULL,
    status INTEGER,
    reason VARCHAR,
    ended_at DOUBLE NOT NULL
);
