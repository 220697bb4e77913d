INSERT INTO bench.life (input) VALUES (bench.input()) RETURNING id \gset
UPDATE bench.life SET state = 'running', attempt = attempt + 1, claimed_by = 'worker-' || (:client_id)::text, visible_at = clock_timestamp() + interval '30 s'
 WHERE id = (:id)::bigint
RETURNING id, input \gset
DELETE FROM bench.life WHERE id = (:id)::bigint;
