"""Ended jobs: kept in a database once they have left the Kubernetes API, and read through an API path of their own.

SQL is only here. What a record's columns are is declared in `hpcbatch.model.row`.
"""
