"""The batch systems whose scripts and commands hpcbatch knows: one folder each."""
