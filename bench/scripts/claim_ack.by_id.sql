\set n :n + 1
\set id (:n - 1) * :clients + :client_id + 1
UPDATE bench.plain SET state = 'running', attempt = attempt + 1, claimed_by = 'worker-' || (:client_id)::text, visible_at = clock_timestamp() + interval '30 s'
 WHERE id = (:id)::bigint
RETURNING id, input \gset
DELETE FROM bench.plain WHERE id = (:id)::bigint;
