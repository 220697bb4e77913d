\set n :n + 1
\set next (:n - 1) * :clients + :client_id + 1
WITH settled AS (DELETE FROM bench.plain WHERE id = (:id)::bigint)
UPDATE bench.plain SET state = 'running', attempt = attempt + 1, claimed_by = 'worker-' || (:client_id)::text, visible_at = clock_timestamp() + interval '30 s'
 WHERE id = (:next)::bigint
RETURNING id, input \gset
