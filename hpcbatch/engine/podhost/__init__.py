"""The process that holds the pods: namespaces, mounts, networks. It imports nothing of the rest."""
