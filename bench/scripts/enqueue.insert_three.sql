\set key random(1, 9000000000000000000)
INSERT INTO bench.insert_three (id, run_id, run_at, name, idempotency_key, input)
VALUES (x_jobs.new_id(), x_jobs.new_id(), now(), 'bench', 'key-' || (:key)::bigint, bench.input()) RETURNING id;
