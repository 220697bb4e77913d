-- from samples/bad.sql
CREATE SCHEMA elsewhere;
CREATE OR REPLACE FUNCTION x_jobs.replaced() RETURNS int LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS 'SELECT 1';
CREATE TABLE IF NOT EXISTS _x_jobs.jobs (id int);
CREATE TABLE public.stray (id int);
CREATE INDEX stray_id ON public.stray (id);
CREATE CAST (text AS int) WITH INOUT;
CREATE FUNCTION x_jobs.no_volatility() RETURNS int LANGUAGE sql PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS 'SELECT 1';
CREATE FUNCTION x_jobs.no_parallel() RETURNS int LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'x_jobs_no_parallel';
CREATE FUNCTION x_jobs.no_path() RETURNS int LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT 1';
CREATE FUNCTION x_jobs.definer() RETURNS int LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT 1';
CREATE FUNCTION x_jobs.open_names() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT count(*) FROM jobs
$$;
CREATE FUNCTION x_jobs.open_insert() RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO ledger VALUES (1);
END $$;
CREATE FUNCTION x_jobs.open_call() RETURNS int LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT no_path()
$$;
COMMENT ON TABLE public.stray IS 'stray';
ALTER TABLE public.stray ADD COLUMN x int;
VACUUM;
