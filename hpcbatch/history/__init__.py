"""Ended jobs: kept in a database once they have left the Kubernetes API, and read through an API path of their own."""
