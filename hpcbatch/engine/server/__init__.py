"""The Kubernetes REST API over HTTPS, on loopback."""
