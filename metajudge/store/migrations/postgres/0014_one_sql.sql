-- Counts are made from lines, as in a file. The lease of a lane is in seconds since the epoch, and its turn goes with
-- its row, as there.
DROP TRIGGER count_added ON lines;
DROP TRIGGER count_deleted ON lines;
DROP TRIGGER count_added ON assessments;
DROP TRIGGER count_added ON annotations;
DROP FUNCTION count_added_lines(), count_deleted_lines(), count_assessments(), count_annotations();
DROP FUNCTION fold_version_counts();
DROP TABLE version_counts;
DROP TABLE input_facts, input_results;
ALTER TABLE service_lanes ALTER COLUMN held_until TYPE FLOAT8 USING extract(epoch FROM held_until);
CREATE INDEX service_items_by_id ON service_items (job_id, item_id);
