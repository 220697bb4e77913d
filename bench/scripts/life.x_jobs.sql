\set key random(1, 9000000000000000000)
SELECT id FROM x_jobs.enqueue('bench', bench.input(), 'key-' || (:key)::bigint);
SELECT id, claim FROM x_jobs.claim('{default}', 'worker-' || (:client_id)::text) \gset
SELECT x_jobs.ack((:id)::uuid, 'worker-' || (:client_id)::text, (:claim)::bigint);
