SELECT id FROM x_jobs.claim('{first,second,third,fourth}', 'worker');
