-- If this failed, the surface would have changed without anybody saying so, or a part of it would be undocumented.
-- X-17 C-061
\set VERBOSITY default
\set SHOW_CONTEXT never
SET search_path = pg_catalog, pg_temp;
-- One line for each object, without padding.
\pset format unaligned
\pset fieldsep ' | '
CREATE TEMP VIEW member AS
    SELECT d.classid, d.objid FROM pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass
        AND d.refobjid = e.oid WHERE d.deptype = 'e' AND e.extname = 'x_jobs';

-- Every object of the extension that is no routine.
SELECT pg_describe_object(classid, objid, 0) AS object FROM member WHERE classid <> 'pg_proc'::regclass
 ORDER BY pg_describe_object(classid, objid, 0) COLLATE "C";

-- Every routine: kind, volatility, strictness, parallel mode, language, security and settings.
SELECT p.oid::regprocedure AS routine, p.prokind AS kind, p.provolatile AS volatility, p.proisstrict AS strict,
    p.proparallel AS parallel, l.lanname AS language, p.prosecdef AS definer, p.proconfig AS settings
  FROM member AS m JOIN pg_proc AS p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
    JOIN pg_language AS l ON l.oid = p.prolang ORDER BY p.oid::regprocedure::text COLLATE "C";

-- What the public ones take and give.
SELECT p.proname, pg_get_function_arguments(p.oid) AS arguments, pg_get_function_result(p.oid) AS result FROM pg_proc AS p
 WHERE p.pronamespace = 'x_jobs'::regnamespace ORDER BY p.proname COLLATE "C", p.pronargs;

-- The columns of the row types.
SELECT t.oid::regtype AS type, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', '
                        ORDER BY a.attnum) AS columns
  FROM pg_type AS t JOIN pg_class AS c ON c.oid = t.typrelid AND c.relkind = 'c' JOIN pg_attribute AS a ON a.attrelid = c.oid
      AND a.attnum > 0
 WHERE t.typnamespace = 'x_jobs'::regnamespace GROUP BY t.oid ORDER BY t.oid::regtype::text COLLATE "C";

-- Everything that is not in the extension although it lies in its schemas: nothing.
SELECT c.oid::regclass FROM pg_class AS c WHERE c.relnamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace)
    AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND c.oid NOT IN (SELECT objid FROM member
                        WHERE classid = 'pg_class'::regclass);
SELECT p.oid::regprocedure FROM pg_proc AS p WHERE p.pronamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace)
    AND p.oid NOT IN (SELECT objid FROM member WHERE classid = 'pg_proc'::regclass);

-- Objects without a comment: none. Triggers belong to their tables, and so do the types of rows and arrays.
SELECT pg_describe_object(classid, objid, 0) AS undocumented FROM member
 WHERE COALESCE(CASE WHEN classid = 'pg_namespace'::regclass THEN obj_description(objid, 'pg_namespace')
                ELSE obj_description(objid, classid::regclass::name) END, '') = ''
 ORDER BY pg_describe_object(classid, objid, 0) COLLATE "C";
-- A column is documented where it stands, or under the same name in the row type that all_jobs, tasks and exchanged_job repeat.
SELECT format('column %s of %s', a.attname, a.attrelid::regclass) AS undocumented
  FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
 WHERE c.relnamespace = 'x_jobs'::regnamespace AND c.relkind IN ('c', 'v') AND a.attnum > 0 AND NOT a.attisdropped
   AND COALESCE(col_description(a.attrelid, a.attnum),
                (SELECT col_description(same.attrelid, same.attnum) FROM pg_attribute AS same
                  WHERE same.attrelid = CASE c.relname WHEN 'all_jobs' THEN 'x_jobs.job'::regclass
                                                       WHEN 'tasks' THEN 'x_jobs.task'::regclass
                                                       WHEN 'exchanged_job' THEN 'x_jobs.claimed_job'::regclass END
                    AND same.attname = a.attname), '') = ''
 ORDER BY a.attrelid::regclass::text COLLATE "C", a.attnum;

-- Tables that a dump would leave out: the partitioned parent, whose leaves are all in, and the leader leases.
SELECT m.objid::regclass AS not_dumped FROM member AS m JOIN pg_class AS c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
 WHERE c.relkind IN ('r', 'p') AND m.objid NOT IN (SELECT unnest(extconfig) FROM pg_extension WHERE extname = 'x_jobs') ORDER BY 1;
