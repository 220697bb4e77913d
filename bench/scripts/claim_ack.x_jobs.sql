SELECT id, claim, input FROM x_jobs.claim('{default}', 'worker-' || (:client_id)::text) \gset
SELECT x_jobs.ack((:id)::uuid, 'worker-' || (:client_id)::text, (:claim)::bigint);
