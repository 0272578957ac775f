"""Every decision about jobs: who is admitted, what happens next to a job or an array, who waits for whom, and why.

Values in, values out. The loops in controller/ read the clock, call Kubernetes, and carry out what is decided here.
"""
