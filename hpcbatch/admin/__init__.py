"""What an admin does to a cluster: users and their namespaces, checks."""
