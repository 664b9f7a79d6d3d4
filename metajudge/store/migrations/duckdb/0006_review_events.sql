-- What happens to a review beside claims and first decisions: rows are added, never changed (but for forgotten texts).
-- kind is amend (payload: the new decision, which replaces the person's earlier one), comment, assign or unassign.
CREATE TABLE review_events (
    event_id BIGINT PRIMARY KEY,
    review_id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    recorded_at DOUBLE NOT NULL,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL
);
