"""The commands of Slurm. Their options and words are in `hpcbatch.slurm`, what they do to jobs in `hpcbatch.client`."""
