"""Labels and annotations by which all parts of hpcbatch find a job's objects, or recognize a machine."""

JOB_ID_LABEL = "hpcbatch.io/job-id"
MADE_FROM_ANNOTATION = "hpcbatch.io/made-from"
"""On a Volcano Job: identifies its manifest; an altered job's record gives another value."""
MACHINE_CPUS = "hpcbatch.io/machine-cpus"
MACHINE_MEMORY = "hpcbatch.io/machine-memory"
"""On a node of the embedded engine: the size of its machine, whatever share of it the node has."""
MANAGED_BY = {"app.kubernetes.io/managed-by": "hpcbatch"}
"""On all objects that hpcbatch makes."""
