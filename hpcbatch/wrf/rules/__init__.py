"""The rules of `hpcbatch wrf check`, one subject a file: each takes a Run and yields findings."""
