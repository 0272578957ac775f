"""Ended jobs: kept in a database after they have left the Kubernetes API, and read through their own API path.

All SQL is here. The columns of a record are declared in `hpcbatch.model.row`.
"""
