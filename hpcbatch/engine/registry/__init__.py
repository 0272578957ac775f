"""Objects with Kubernetes' semantics, over a store on SQLite."""
