"""The commands of PBS. Their options and words are in `hpcbatch.pbs`, what they do to jobs in `hpcbatch.client`."""
