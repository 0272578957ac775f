"""The kinds of objects that hpcbatch reads or writes, by their names in the API's URLs."""

from __future__ import annotations

from hpcbatch.record import GROUP, KIND, VERSION
from hpcbatch.typed import NamedTuple


class Resource(NamedTuple):
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """URL path of the collection or of one object. `namespace` None: all namespaces, or a cluster-scoped kind."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root, "namespaces", namespace] if self.namespaced and namespace is not None else [root]
        return "/".join([*parts, self.plural, *filter(None, (name, subresource))])


PODS = Resource("", "v1", "pods", "Pod")
SERVICES = Resource("", "v1", "services", "Service")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
EVENTS = Resource("", "v1", "events", "Event")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
PVCS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
RESOURCE_QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
SUBJECT_ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
_ADMISSION = "admissionregistration.k8s.io"
MUTATING_WEBHOOKS = Resource(
    _ADMISSION, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", namespaced=False
)
VALIDATING_WEBHOOKS = Resource(
    _ADMISSION, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", namespaced=False
)
ADMISSION_POLICIES = Resource(
    _ADMISSION, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False
)
ADMISSION_POLICY_BINDINGS = Resource(
    _ADMISSION, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", namespaced=False
)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
NETWORK_POLICIES = Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
SELF_REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)
CSRS = Resource(
    "certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest", namespaced=False
)
API_SERVICES = Resource("apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False)
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
_DEVICES = ("resource.k8s.io", "v1")
DEVICE_CLASSES = Resource(*_DEVICES, "deviceclasses", "DeviceClass", namespaced=False)
RESOURCE_SLICES = Resource(*_DEVICES, "resourceslices", "ResourceSlice", namespaced=False)
RESOURCE_CLAIMS = Resource(*_DEVICES, "resourceclaims", "ResourceClaim")
CLAIM_TEMPLATES = Resource(*_DEVICES, "resourceclaimtemplates", "ResourceClaimTemplate")
VOLCANO_JOBS = Resource("batch.volcano.sh", "v1alpha1", "jobs", "Job")
PODGROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
HYPERNODES = Resource("topology.volcano.sh", "v1alpha1", "hypernodes", "HyperNode", namespaced=False)
NUMATOPOLOGIES = Resource("nodeinfo.volcano.sh", "v1alpha1", "numatopologies", "Numatopology", namespaced=False)
COSCHEDULING_PODGROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")
KOORDINATOR_PODGROUPS = Resource("scheduling.sigs.k8s.io", "v1alpha1", "podgroups", "PodGroup")
KUEUE_WORKLOADS = tuple(Resource("kueue.x-k8s.io", each, "workloads", "Workload") for each in ("v1beta2", "v1beta1"))
"""The version that its releases have from 0.15 on, and the one that is all that older ones have."""
QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)
COMMANDS = Resource("bus.volcano.sh", "v1alpha1", "commands", "Command")
BATCHJOBS = Resource(GROUP, VERSION, "batchjobs", KIND)
RESERVATIONS = Resource(GROUP, VERSION, "reservations", "Reservation")
