SELECT id FROM x_jobs.claim('{first}', 'worker');
