"""The embedded cluster of `hpcbatch up`: its start, its stop, and the processes that it consists of.

Its parts (registry and server, Volcano's controllers, agents, pod hosts) know each other only by API objects. No batch
system's words are here.
"""
