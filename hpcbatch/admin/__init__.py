"""What an admin does to a cluster: users with their namespaces, certificates, checks. No click, no jobs."""
