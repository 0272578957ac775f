"""The agent: runs the pods that the scheduler has given a node, and tells what becomes of them."""
