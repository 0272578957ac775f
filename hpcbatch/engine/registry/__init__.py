"""Objects with Kubernetes' semantics, over a store on SQLite. No HTTP, and nothing that runs a pod."""
