SELECT c.id IS NOT NULL AS got, c.id, c.claim FROM (VALUES (1)) AS one LEFT JOIN x_jobs.claim('{default}', 'worker-' || (:client_id)::text) AS c ON true \gset
\if :got
SELECT x_jobs.ack((:id)::uuid, 'worker-' || (:client_id)::text, (:claim)::bigint);
\endif
