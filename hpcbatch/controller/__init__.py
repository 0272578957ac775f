"""The loops that carry out what policy says: they watch, read the clock, call the Kubernetes API, and keep no state
that is not there. What is to be done with a job is decided in policy/.
"""
