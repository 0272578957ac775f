"""Names that the commands, the controller and the API objects agree on."""

JOB_ID_LABEL = "hpcbatch.io/job-id"
SECRET_TYPE = "hpcbatch.io/submission"  # noqa: S105  a Kubernetes Secret type
SCRIPT_KEY = "script"
ENVIRONMENT_KEY = "environment"
SCHEMA_ANNOTATION = "hpcbatch.io/schema"
SCHEMA_VERSION = 3
"""What the annotation of the BatchJobs' CRD holds; raised at each change of deploy/crd/batchjobs.yaml."""
SYSTEM_NAMESPACE = "hpcbatch-system"
SITE_CONFIGMAP = "hpcbatch-site"
"""The admin's: the site's configuration, in SYSTEM_NAMESPACE."""
IN_FORCE_CONFIGMAP = "hpcbatch-site-in-force"
"""The controller's: the texts of that configuration which took effect last."""
QUEUES_CONFIGMAP = "hpcbatch-queues"
"""The controller's: what users may know of the site's queues."""
QUEUES_KEY = "queues.json"
SITE_ERROR_ANNOTATION = "hpcbatch.io/error"
"""On SITE_CONFIGMAP: why its present text is not in force."""
