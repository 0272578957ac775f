"""Every decision about jobs: who is admitted, what becomes of a job or an array next, who waits for whom, and why.

Values in, values out. The loops in controller/ read the clock, ask Kubernetes, and carry out what is decided here.
"""
