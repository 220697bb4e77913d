WITH defaults as (
  SELECT
    NULL as expire_in,
    NULL as keep_until,
    NULL::int as retry_limit,
    NULL::int as retry_delay,
    NULL::bool as retry_backoff
)
INSERT INTO pgboss.job (
  id,
  name,
  data,
  priority,
  start_after,
  singleton_key,
  singleton_on,
  dead_letter,
  expire_in,
  keep_until,
  retry_limit,
  retry_delay,
  retry_backoff,
  policy
)
SELECT
  COALESCE(id, gen_random_uuid()) as id,
  j.name,
  data,
  COALESCE(priority, 0) as priority,
  j.start_after,
  "singletonKey" as singleton_key,
  CASE
    WHEN "singletonSeconds" IS NOT NULL THEN 'epoch'::timestamp + '1 second'::interval * ("singletonSeconds" * floor( date_part('epoch', now()) / "singletonSeconds" ))
    ELSE NULL
    END as singleton_on,
  COALESCE("deadLetter", q.dead_letter) as dead_letter,
  CASE
    WHEN "expireInSeconds" IS NOT NULL THEN "expireInSeconds"::numeric * interval '1s'
    WHEN q.expire_seconds IS NOT NULL THEN q.expire_seconds * interval '1s'
    WHEN defaults.expire_in IS NOT NULL THEN defaults.expire_in::numeric * interval '1s'
    ELSE interval '15 minutes'
    END as expire_in,
  CASE
    WHEN "keepUntil" IS NOT NULL THEN "keepUntil"
    ELSE COALESCE(j.start_after, now()) + CAST(COALESCE((q.retention_minutes * 60)::text, defaults.keep_until, '14 days') as interval)
    END as keep_until,
  COALESCE("retryLimit", q.retry_limit, defaults.retry_limit, 2),
  CASE
    WHEN COALESCE("retryBackoff", q.retry_backoff, defaults.retry_backoff, false)
      THEN GREATEST(COALESCE("retryDelay", q.retry_delay, defaults.retry_delay), 1)
    ELSE COALESCE("retryDelay", q.retry_delay, defaults.retry_delay, 0)
    END as retry_delay,
  COALESCE("retryBackoff", q.retry_backoff, defaults.retry_backoff, false) as retry_backoff,
  q.policy
FROM (
  SELECT *,
    CASE
      WHEN right("startAfter", 1) = 'Z' THEN CAST("startAfter" as timestamp with time zone)
      ELSE now() + CAST(COALESCE("startAfter",'0') as interval)
      END as start_after
  FROM json_to_recordset((SELECT jobs FROM bench.batch)) as x (
    id uuid,
    name text,
    priority integer,
    data jsonb,
    "startAfter" text,
    "retryLimit" integer,
    "retryDelay" integer,
    "retryBackoff" boolean,
    "singletonKey" text,
    "singletonSeconds" integer,
    "expireInSeconds" integer,
    "keepUntil" timestamp with time zone,
    "deadLetter" text
  )
) j
JOIN pgboss.queue q ON j.name = q.name,
  defaults
ON CONFLICT DO NOTHING;
