"""The LSF dialect: bsub's #BSUB lines and options in, the texts of bjobs, bqueues, bhosts and the others out.

Spectrum LSF is closed. Sources are the manual pages and source of OpenLava, its free branch, and the documents of LSF
10.1.
"""
