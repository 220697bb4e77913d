WITH next AS (SELECT id FROM bench.plain WHERE queue = 'default' AND state = 'ready' AND run_at <= now() ORDER BY priority, run_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
UPDATE bench.plain AS p SET state = 'running', attempt = attempt + 1, claimed_by = 'worker-' || (:client_id)::text, visible_at = clock_timestamp() + interval '30 s'
  FROM next WHERE p.id = next.id
RETURNING p.id, p.input \gset
DELETE FROM bench.plain WHERE id = (:id)::bigint;
