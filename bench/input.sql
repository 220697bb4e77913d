-- What every job and row carries: 200 bytes as text.
CREATE SCHEMA bench;
CREATE FUNCTION bench.input() RETURNS jsonb LANGUAGE sql IMMUTABLE
    RETURN ('{"to": "' || repeat('x', 190) || '"}')::jsonb;
