WITH settled AS (DELETE FROM bench.plain WHERE id = ANY ((:held)::bigint[])), taken AS (
UPDATE bench.plain SET state = 'running', attempt = attempt + 1, claimed_by = 'worker-' || (:client_id)::text, visible_at = clock_timestamp() + interval '30 s'
 WHERE id = ANY (ARRAY(SELECT id FROM bench.plain WHERE queue = 'default' AND state = 'ready' AND run_at <= now() ORDER BY priority, run_at, id LIMIT 100 FOR UPDATE SKIP LOCKED))
RETURNING id, input)
SELECT COALESCE(array_agg(id), '{}')::text AS held, max(length(input::text)) AS longest FROM taken \gset
