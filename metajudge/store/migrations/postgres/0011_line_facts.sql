-- What figures over verdicts and labels need of each current version, in short columns. Derived from texts that never
-- change; rows that are missing are added while nobody waits for them (metajudge/store/line_facts.py). judgment and item
-- are hashes of the digests; item is null where the judgment's texts are not stored.
CREATE TABLE line_facts (
    number BIGINT PRIMARY KEY,
    assessment_id BIGINT NOT NULL,
    judgment BIGINT NOT NULL,
    item BIGINT,
    created_at FLOAT8 NOT NULL,
    final_score FLOAT8,
    probability FLOAT8,
    threshold FLOAT8 NOT NULL,
    accepted BOOLEAN,
    correct BOOLEAN,
    panel_digest VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    policy VARCHAR,
    kind VARCHAR,
    graded VARCHAR,
    answer VARCHAR
);
CREATE FUNCTION drop_line_facts() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
    DELETE FROM line_facts USING gone WHERE line_facts.number = gone.number;
    RETURN NULL;
END $$;
CREATE TRIGGER drop_facts AFTER DELETE ON lines REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION drop_line_facts();
