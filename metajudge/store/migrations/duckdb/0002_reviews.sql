-- Human review and the audit log of policies, proposals and activations: rows are added, never changed (but for
-- forgotten texts, which live in the payload columns).

CREATE TABLE reviews (
    review_id VARCHAR PRIMARY KEY,
    subject_id VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    judge VARCHAR,
    category VARCHAR,
    policy_digest VARCHAR,
    priority INTEGER NOT NULL,
    margin DOUBLE,
    opened_at DOUBLE NOT NULL,
    reviewers INTEGER NOT NULL,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL
);

-- The newest row of a review and reviewer counts; a claim given back has expires_at = claimed_at.
CREATE TABLE review_claims (
    claim_id BIGINT PRIMARY KEY,
    review_id VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    claimed_at DOUBLE NOT NULL,
    expires_at DOUBLE NOT NULL
);

CREATE TABLE review_decisions (
    decision_id BIGINT PRIMARY KEY,
    review_id VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    decided_at DOUBLE NOT NULL,
    payload VARCHAR NOT NULL,
    redacted BOOLEAN NOT NULL,
    UNIQUE (review_id, reviewer)
);

-- kind is policy, snapshot, proposal, backtest, activation or audit; subject is what the entry is about.
CREATE TABLE audit_log (
    entry_id BIGINT PRIMARY KEY,
    kind VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    recorded_at DOUBLE NOT NULL,
    payload VARCHAR NOT NULL
);
