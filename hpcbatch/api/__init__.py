"""The port to the Kubernetes API: the few calls that hpcbatch makes, their client, informers. Knows nothing of jobs."""
