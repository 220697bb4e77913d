\set n :n + 1
\set first ((:n - 1) * :clients + :client_id) * 100 + 1
WITH taken AS (
UPDATE bench.plain SET state = 'running', attempt = attempt + 1, claimed_by = 'worker-' || (:client_id)::text, visible_at = clock_timestamp() + interval '30 s'
 WHERE id BETWEEN (:first)::bigint AND (:first)::bigint + 99
RETURNING id, input)
SELECT count(*) AS taken, max(length(input::text)) AS longest FROM taken \gset
DELETE FROM bench.plain WHERE id BETWEEN (:first)::bigint AND (:first)::bigint + 99;
