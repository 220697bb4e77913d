-- Everything that stands in the schemas x_jobs and _x_jobs, one line for each fact, in an order that does not depend
-- on when it was made. Two installations are the same when their listings are.
SET search_path = pg_catalog, pg_temp;
WITH space AS (
    SELECT oid, nspname, nspacl, nspowner FROM pg_namespace WHERE nspname IN ('x_jobs', '_x_jobs')
), relation AS (
    SELECT c.*, format('%s.%s', space.nspname, c.relname) AS called FROM pg_class c JOIN space ON space.oid = c.relnamespace
), routine AS (
    SELECT p.* FROM pg_proc p JOIN space ON space.oid = p.pronamespace
), fact (kind, called, what) AS (
    SELECT 'schema', nspname::text, nspacl::text FROM space
    UNION ALL
    SELECT 'relation', called, concat_ws(' ', relkind, relpersistence, relispartition, relrowsecurity, relreplident, reloptions, relacl,
                                         pg_get_partkeydef(oid), pg_get_expr(relpartbound, oid))
      FROM relation
    UNION ALL
    SELECT 'column', format('%s.%s', called, attname), concat_ws(' ', attnum, format_type(atttypid, atttypmod), attnotnull, attstorage, attcompression,
                  attcollation::regcollation, attacl, pg_get_expr(d.adbin, d.adrelid))
      FROM relation JOIN pg_attribute a ON a.attrelid = relation.oid AND attnum > 0 AND NOT attisdropped
      LEFT JOIN pg_attrdef d ON d.adrelid = relation.oid AND d.adnum = attnum
     WHERE relkind <> 'i'
    UNION ALL
    SELECT 'constraint', format('%s.%s', called, conname), pg_get_constraintdef(k.oid)
      FROM relation JOIN pg_constraint k ON k.conrelid = relation.oid
    UNION ALL
    SELECT 'index', called, pg_get_indexdef(oid) FROM relation WHERE relkind IN ('i', 'I')
    UNION ALL
    SELECT 'view', called, pg_get_viewdef(oid) FROM relation WHERE relkind = 'v'
    UNION ALL
    SELECT 'trigger', format('%s.%s', called, tgname), pg_get_triggerdef(t.oid)
      FROM relation JOIN pg_trigger t ON t.tgrelid = relation.oid AND NOT tgisinternal
    UNION ALL
    SELECT 'parent', called, (SELECT string_agg(inhparent::regclass::text, ' ') FROM pg_inherits WHERE inhrelid = relation.oid) FROM relation
     WHERE relispartition
    UNION ALL
    SELECT 'routine', oid::regprocedure::text,
           concat_ws(' ', prokind, provolatile, proisstrict, proparallel, prosecdef, proleakproof, procost, prorows, proconfig, proacl,
                     pg_get_functiondef(oid))
      FROM routine
    UNION ALL
    SELECT 'type', format('%s.%s', space.nspname, typname), concat_ws(' ', typtype, typacl) FROM pg_type JOIN space ON space.oid = typnamespace
    UNION ALL
    SELECT 'comment', pg_describe_object(classoid, objoid, objsubid), description
      FROM pg_description
     WHERE (classoid = 'pg_class'::regclass AND objoid IN (SELECT oid FROM relation))
        OR (classoid = 'pg_proc'::regclass AND objoid IN (SELECT oid FROM routine))
        OR (classoid = 'pg_type'::regclass AND objoid IN (SELECT t.oid FROM pg_type t JOIN space ON space.oid = t.typnamespace))
        OR (classoid = 'pg_namespace'::regclass AND objoid IN (SELECT oid FROM space))
    UNION ALL
    SELECT 'dumped', extconfig.relation::regclass::text, extconfig.filter
      FROM pg_extension, unnest(extconfig, extcondition) AS extconfig (relation, filter)
     WHERE extname = 'x_jobs'
)
SELECT concat_ws(' ', kind, called, what) FROM fact ORDER BY concat_ws(' ', kind, called, what) COLLATE "C";
