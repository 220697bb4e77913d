\echo Use "CREATE EXTENSION x_jobs" to load this file. \quit

-- The script makes both schemas itself, with plain CREATE: a schema, table or function of these names that
-- somebody planted beforehand stops the installation instead of becoming part of it.
CREATE SCHEMA x_jobs;
CREATE SCHEMA _x_jobs;
REVOKE ALL ON SCHEMA x_jobs, _x_jobs FROM PUBLIC;
