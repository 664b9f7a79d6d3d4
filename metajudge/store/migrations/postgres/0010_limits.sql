-- Limits that replicas of the service keep together: the calls in flight and the rates, and what a budget has spent.
CREATE TABLE service_limits (
    name VARCHAR PRIMARY KEY,
    state VARCHAR NOT NULL
);
