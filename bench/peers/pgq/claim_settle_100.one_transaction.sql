BEGIN;
SELECT batch_id FROM pgq.next_batch_info('bench_' || (:client_id)::text, 'worker') \gset
SELECT count(*) AS taken, max(length(ev_data)) AS longest FROM pgq.get_batch_events((:batch_id)::bigint) \gset
SELECT pgq.finish_batch((:batch_id)::bigint);
COMMIT;
