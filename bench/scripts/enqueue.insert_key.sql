INSERT INTO bench.insert_key (input) VALUES (bench.input()) RETURNING id;
