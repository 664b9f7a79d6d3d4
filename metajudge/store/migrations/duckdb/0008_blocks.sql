-- Caches of what a run learned about its input: facts about some thousand lines (lines: their digests of 16 bytes, one
-- after the other; facts: a JSON array, compressed), and the numbers of the versions that are the results of a block of lines.
CREATE TABLE input_facts (
    segment BIGINT NOT NULL,
    lines BLOB NOT NULL,
    facts BLOB NOT NULL
);
CREATE TABLE input_results (
    segment BIGINT NOT NULL,
    block BLOB NOT NULL,
    numbers BLOB NOT NULL
);
