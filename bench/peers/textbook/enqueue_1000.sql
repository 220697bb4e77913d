INSERT INTO bench.plain (input) SELECT input FROM unnest(array_fill(bench.input(), ARRAY[1000])) AS input;
