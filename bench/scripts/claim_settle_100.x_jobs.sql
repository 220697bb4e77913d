SELECT COALESCE(array_agg((c.id, c.claim, 'ack', NULL, NULL, NULL, NULL, NULL, NULL, NULL)::x_jobs.settlement), '{}')::text AS held, max(length(c.input::text)) AS longest FROM x_jobs.claim('{default}', 'worker-' || (:client_id)::text, 100) AS c \gset
SELECT count(*) FROM x_jobs.settle((:held)::x_jobs.settlement[], 'worker-' || (:client_id)::text) AS s WHERE s.landed;
