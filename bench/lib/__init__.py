"""What bench/run and bench/report are made of: one module for each kind of measurement, and what they share."""
