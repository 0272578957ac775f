"""The control loops: they watch, read the clock, call the Kubernetes API, and keep no state that the API does not
have. What to do with a job is decided in policy/.
"""
