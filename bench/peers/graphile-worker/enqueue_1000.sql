SELECT count(*) FROM graphile_worker.add_jobs(
  array(
    SELECT json_populate_recordset(NULL::graphile_worker.job_spec, (SELECT jobs FROM bench.batch))
  ),
  false::boolean
);
