"""The commands of Slurm. Options and words: `hpcbatch.dialects.slurm`; what they do to jobs: `hpcbatch.client`."""
