"""Volcano's controllers: jobs, scheduling, admission."""
