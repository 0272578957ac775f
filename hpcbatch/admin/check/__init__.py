"""`hpcbatch check`: what is missing or misconfigured on a cluster, and how to mend it. One subject a file.

A check is a small function that reads from a Cluster and gives findings; what can be judged without the API is a
`judge_…` function of its own, from recorded objects to findings.
"""
