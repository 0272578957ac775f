"""The commands of PBS. Options and words are in `hpcbatch.dialects.pbs`, what they do to jobs in `hpcbatch.client`."""
