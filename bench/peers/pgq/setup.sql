-- One queue for each of eight clients: a queue of PgQ has one reader at a time for each consumer. Ticks, which the daemon
-- pgqd makes otherwise, are made where the backlog is laid out, one for each call of pgq.ticker().
CREATE EXTENSION pgq;
\ir ../../input.sql
SELECT pgq.create_queue('bench_' || n), pgq.register_consumer('bench_' || n, 'worker') FROM generate_series(0, 7) AS n;
UPDATE pgq.queue SET queue_ticker_max_count = 1, queue_ticker_max_lag = '0';
