INSERT INTO bench.plain (input) VALUES (bench.input()) RETURNING id;
