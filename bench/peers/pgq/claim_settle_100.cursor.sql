BEGIN;
SELECT batch_id FROM pgq.next_batch_info('bench_' || (:client_id)::text, 'worker') \gset
SELECT count(*) AS taken, max(length(ev_data)) AS longest FROM pgq.get_batch_cursor((:batch_id)::bigint, 'events', 100) \gset
SELECT pgq.finish_batch((:batch_id)::bigint);
COMMIT;
