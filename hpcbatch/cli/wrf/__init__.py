"""`hpcbatch wrf`: it reads the files of a run and prints. The rules, and how a log is read, are in `hpcbatch.wrf`."""
