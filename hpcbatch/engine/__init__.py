"""The embedded cluster of `hpcbatch up`: its start, its stop, and its processes.

Its parts (registry and server, Volcano's controllers, agents, pod hosts) meet only at API objects. It uses no terms
of a batch system.
"""
