"""The neutral model that all dialects share: frozen values that are checked once. No I/O, and no dialect's words."""
