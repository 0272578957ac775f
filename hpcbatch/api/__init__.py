"""The port to the Kubernetes API: the few calls that hpcbatch makes, their client, informers, the certificates
of servers. Knows nothing of jobs."""
