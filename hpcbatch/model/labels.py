"""Labels and annotations by which all parts of hpcbatch find a job's objects, or recognize a machine."""

JOB_ID_LABEL = "hpcbatch.io/job-id"
MADE_FROM_ANNOTATION = "hpcbatch.io/made-from"
"""On a Volcano Job: identifies its manifest; an altered job's record gives another value."""
NODE_COMMENT = "hpcbatch.io/node-comment"
"""On a node: why an operator has taken it out of use, or anything else that was said of it (pbsnodes -C, sinfo -R)."""
NODE_COMMENT_BY = "hpcbatch.io/node-comment-by"
NODE_COMMENT_TIME = "hpcbatch.io/node-comment-time"
MACHINE_CPUS = "hpcbatch.io/machine-cpus"
MACHINE_MEMORY = "hpcbatch.io/machine-memory"
"""On a node of the embedded engine: the size of its machine, whatever share of it the node has."""
MANAGED_BY = {"app.kubernetes.io/managed-by": "hpcbatch"}
"""On all objects that hpcbatch makes."""
