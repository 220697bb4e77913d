SELECT * FROM graphile_worker.add_jobs(
  array(
    SELECT json_populate_recordset(NULL::graphile_worker.job_spec, json_build_array(json_build_object('identifier', 'bench', 'payload', bench.input())))
  ),
  false::boolean
);
