"""The job record: what follows from the fields that hpcbatch/model declares. JSON both ways, the definition of the
BatchJob, rows of listings, and what alterations may change. Values in, values out: no I/O, and nothing of one dialect.
"""

GROUP, VERSION, KIND = "hpcbatch.io", "v1alpha1", "BatchJob"
