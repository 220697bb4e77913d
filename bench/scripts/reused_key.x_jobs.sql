SELECT id FROM x_jobs.enqueue('bench', bench.input(), 'the only one');
SELECT id, claim FROM x_jobs.claim('{default}', 'worker') \gset
SELECT x_jobs.ack((:id)::uuid, 'worker', (:claim)::bigint);
