\set key random(1, 9000000000000000000)
INSERT INTO bench.insert_three (id, run_id, run_at, name, idempotency_key, input)
SELECT x_jobs.new_id(), x_jobs.new_id(), now(), 'bench', t.key, t.input
  FROM unnest(array_fill(bench.input(), ARRAY[1000]), ARRAY(SELECT 'key-' || (:key)::bigint || '-' || n FROM generate_series(1, 1000) AS n)) AS t(input, key);
