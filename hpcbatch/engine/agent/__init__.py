"""The agent of a node: it runs the pods that the scheduler has bound to the node, and reports their statuses."""
