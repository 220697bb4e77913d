with j as (
  select jobs.job_queue_id, jobs.priority, jobs.run_at, jobs.id
    from graphile_worker._private_jobs as jobs
    where jobs.is_available = true
    and run_at <= now()
    and task_id = any((:tasks)::int[])
    and (
      jobs.job_queue_id is null
      or
      jobs.job_queue_id in (
        select id
        from graphile_worker._private_job_queues as job_queues
        where job_queues.is_available = true
        for update
        skip locked
      )
    )
    order by priority asc, run_at asc
    limit 100
    for update
    skip locked
),
q as (
  update graphile_worker._private_job_queues as job_queues
    set
      locked_by = ('worker-' || (:client_id)::text)::text,
      locked_at = now()
    from j
    where job_queues.id = j.job_queue_id
), taken as (
  update graphile_worker._private_jobs as jobs
    set
      attempts = jobs.attempts + 1,
      locked_by = ('worker-' || (:client_id)::text)::text,
      locked_at = now()
    from j
    where jobs.id = j.id
    returning jobs.*)
select coalesce(array_agg(id), '{}')::text as held, max(length(payload::text)) as longest from taken \gset
delete from graphile_worker._private_jobs as jobs
using unnest((:held)::bigint[]) n(n)
where id = n;
