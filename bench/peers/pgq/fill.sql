SELECT count(pgq.insert_event('bench_' || (:client_id)::text, 'bench', input::text)) FROM unnest(array_fill(bench.input(), ARRAY[100])) AS input;
SELECT pgq.ticker('bench_' || (:client_id)::text);
