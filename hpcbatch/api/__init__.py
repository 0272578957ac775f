"""The port to the Kubernetes API: the few calls hpcbatch makes, its client, and the BatchJob record."""
