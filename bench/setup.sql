-- The tables that x_jobs is measured against, made in each block's database. x_jobs itself is installed beside them.
CREATE EXTENSION x_jobs;
\ir input.sql

-- One plain insert: a table with nothing but its primary key.
CREATE TABLE bench.insert_key (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL DEFAULT 'default',
    input jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- One plain insert into the columns and the three indexes of x_jobs' own table.
CREATE TABLE bench.insert_three (LIKE _x_jobs.jobs INCLUDING DEFAULTS INCLUDING INDEXES) WITH (fillfactor = 45);

-- The life of a row in a table with nothing but its primary key: INSERT, UPDATE, DELETE.
CREATE TABLE bench.life (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL DEFAULT 'default',
    state text NOT NULL DEFAULT 'ready',
    attempt integer NOT NULL DEFAULT 0,
    claimed_by text,
    visible_at timestamptz,
    input jsonb NOT NULL
);

-- The textbook queue: a row is taken with SKIP LOCKED and deleted when it is done. No history, no fencing, no key.
CREATE TABLE bench.plain (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL DEFAULT 'default',
    state text NOT NULL DEFAULT 'ready',
    priority integer NOT NULL DEFAULT 5,
    attempt integer NOT NULL DEFAULT 0,
    run_at timestamptz NOT NULL DEFAULT now(),
    claimed_by text,
    visible_at timestamptz,
    input jsonb NOT NULL
);
CREATE INDEX plain_claim ON bench.plain (queue, priority, run_at, id) WHERE state = 'ready';
