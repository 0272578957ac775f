"""The commands of LSF. Options and words: `hpcbatch.dialects.lsf`; what they do to jobs: `hpcbatch.client`."""
