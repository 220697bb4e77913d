\set key random(1, 9000000000000000000)
SELECT (x_jobs.enqueue('bench', bench.input(), 'key-' || (:key)::bigint)).id;
