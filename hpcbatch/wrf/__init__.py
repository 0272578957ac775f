"""WRF: its namelist, what can be known to be wrong before a run, and what its log says of one.

Texts in, values out: the files are read by `hpcbatch.cli.wrf`.
"""
