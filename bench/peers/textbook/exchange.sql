WITH settled AS (DELETE FROM bench.plain WHERE id = (:id)::bigint)
UPDATE bench.plain SET state = 'running', attempt = attempt + 1, claimed_by = 'worker-' || (:client_id)::text, visible_at = clock_timestamp() + interval '30 s'
 WHERE id = (SELECT id FROM bench.plain WHERE queue = 'default' AND state = 'ready' AND run_at <= now() ORDER BY priority, run_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, input \gset
