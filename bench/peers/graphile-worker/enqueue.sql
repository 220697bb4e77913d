SELECT * FROM graphile_worker.add_job(
  identifier => 'bench'::text,
  payload => bench.input()::json,
  queue_name => NULL::text,
  run_at => NULL::timestamptz,
  max_attempts => NULL::int,
  job_key => NULL::text,
  priority => NULL::int,
  flags => NULL::text[],
  job_key_mode => NULL::text
);
