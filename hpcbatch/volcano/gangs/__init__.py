"""How each scheduler is told which pods start together or not at all. One file each; `registry.py` has them all."""
