"""The PBS dialect: qsub's directives and options in, the texts of qstat, qalter, tracejob and the others out.

What the commands answer was recorded from OpenPBS. Nothing here knows Kubernetes; the rest of hpcbatch asks `door.py`.
"""
