"""The Kubernetes REST API over HTTPS, on loopback: requests become calls of the registry."""
