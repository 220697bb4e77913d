\set key random(1, 9000000000000000000)
SELECT count(*) FROM x_jobs.enqueue_many('bench', array_fill(bench.input(), ARRAY[1000]), ARRAY(SELECT 'key-' || (:key)::bigint || '-' || n FROM generate_series(1, 1000) AS n));
