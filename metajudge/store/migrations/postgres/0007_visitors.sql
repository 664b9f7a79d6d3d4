-- What replicas of the service share about people in a browser: their part of the key that signs session cookies, the
-- sessions that were ended, and attempts to log in by address and minute.

CREATE TABLE service_secrets (
    name VARCHAR PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE service_ended_sessions (
    mark VARCHAR PRIMARY KEY,
    expires_at FLOAT8 NOT NULL
);

CREATE TABLE service_logins (
    address VARCHAR NOT NULL,
    minute BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    PRIMARY KEY (address, minute)
);
