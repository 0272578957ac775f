"""The agent of a node: it runs the pods that the scheduler has given the node, and reports what becomes of them."""
