"""Labels and annotations of Kubernetes objects by which all parts of hpcbatch find a job, or know a machine."""

JOB_ID_LABEL = "hpcbatch.io/job-id"
MADE_FROM_ANNOTATION = "hpcbatch.io/made-from"
"""On a Volcano Job: which one would be made of the same record; another for a job that was altered since."""
MACHINE_CPUS = "hpcbatch.io/machine-cpus"
MACHINE_MEMORY = "hpcbatch.io/machine-memory"
"""On a node of the embedded engine: the size of its machine, whatever the node's own share of it is."""
MANAGED_BY = {"app.kubernetes.io/managed-by": "hpcbatch"}
"""On all objects that hpcbatch makes."""
