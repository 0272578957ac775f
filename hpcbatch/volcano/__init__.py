"""From a placed job to its Volcano Job and ConfigMap, and from a Volcano Job's status back: pure functions.

The runner's files and Volcano's own rules of admission are here too. No dialect is: its words come in as values.
"""
