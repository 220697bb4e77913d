SELECT pgq.insert_event('bench_' || (:client_id)::text, 'bench', bench.input()::text);
