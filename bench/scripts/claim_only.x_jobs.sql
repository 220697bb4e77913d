SELECT id FROM x_jobs.claim('{default}', 'worker-' || (:client_id)::text, visibility_timeout => '1 h');
