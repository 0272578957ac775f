"""The neutral model that all dialects share: frozen values, no I/O."""
