"""Volcano's controllers for the engine: jobs, scheduling, admission. Their rules are pure and in `hpcbatch.volcano`."""
