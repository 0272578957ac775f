"""The neutral model that all dialects share: frozen values that are checked once. No I/O, no terms of one dialect."""
