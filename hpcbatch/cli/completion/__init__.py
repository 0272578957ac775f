"""Completion for bash, zsh and fish: scripts made from the command lines of all commands. What only the cluster knows,
ids of jobs, queues and nodes, `hpcbatch complete` prints when a key is pressed.
"""
