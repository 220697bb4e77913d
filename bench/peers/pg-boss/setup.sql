-- Run after start() and createQueue(), see setup.cjs; bench.batch holds what insert() sends for 1000 jobs, as JSON.
\ir ../../input.sql
CREATE TABLE bench.batch AS
    SELECT json_agg(json_build_object('name', 'bench', 'data', bench.input())) AS jobs FROM generate_series(1, 1000);
