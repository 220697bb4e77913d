-- Run after `graphile-worker --schema-only`. The task is made known as a worker makes its tasks known at its start
-- (dist/taskIdentifiers.js); bench.batch holds what a producer sends with add_jobs for 1000 jobs, as JSON.
\ir ../../input.sql
INSERT INTO graphile_worker._private_tasks AS tasks (identifier) SELECT unnest('{bench}'::text[]) ON CONFLICT DO NOTHING;
CREATE TABLE bench.batch AS
    SELECT json_agg(json_build_object('identifier', 'bench', 'payload', bench.input())) AS jobs FROM generate_series(1, 1000);
