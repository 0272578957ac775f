"""hpcbatch: PBS, Slurm and LSF batch scripts, unmodified, on Kubernetes with Volcano."""

__version__ = "0.1.0"
