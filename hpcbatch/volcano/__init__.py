"""From a placed job to its Volcano Job and ConfigMap, and from a Volcano Job's status back: pure functions.

The runner's files and Volcano's own admission rules are here too. No dialect is: its texts are passed in as values.
"""
