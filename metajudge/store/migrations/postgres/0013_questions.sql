-- Facts with the question of their item, which several items may ask. They are derived, and are added anew.
DELETE FROM line_facts;
ALTER TABLE line_facts ADD COLUMN question BIGINT;
