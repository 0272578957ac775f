"""Names that the commands, the controller and the API objects agree on."""

JOB_ID_LABEL = "hpcbatch.io/job-id"
SECRET_TYPE = "hpcbatch.io/submission"  # noqa: S105  a Kubernetes Secret type
SCRIPT_KEY = "script"
ENVIRONMENT_KEY = "environment"
