"""Maps, meteograms, cross-sections and a page of wrfout files.

Imports numpy, matplotlib, netCDF4, pillow and itself only: `program.py` packs these modules into one file that runs
where hpcbatch is not installed, as in the pod of a job.
"""
