"""The job record, derived from the fields that hpcbatch/model declares: JSON both ways, the BatchJob's definition, rows
of listings, and what alterations may change. Values in, values out: no I/O, nothing of one dialect.
"""

GROUP, VERSION, KIND = "hpcbatch.io", "v1alpha1", "BatchJob"
