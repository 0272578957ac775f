"""The fields of the core kinds, type by type, in a short notation. Source: k8s.io/api at v0.34.

`name:type`; types are str, int, bool, num, time, bytes, ios (integer or text), qty (quantity), any (free),
schemaOrBool, `[T]` a list of T, `{T}` a map from text to T, or the name of a type here.
"""

from __future__ import annotations

_LABEL_SELECTOR = "matchLabels:{str} matchExpressions:[LabelRequirement]"
_HANDLER = "exec:ExecAction httpGet:HTTPGetAction tcpSocket:TCPSocketAction"  # what probes and lifecycle hooks share
_PROBE = (
    f"{_HANDLER} grpc:GRPCAction initialDelaySeconds:int timeoutSeconds:int periodSeconds:int "
    "successThreshold:int failureThreshold:int terminationGracePeriodSeconds:int"
)
_CONDITION = "type:str status:str reason:str message:str lastTransitionTime:time observedGeneration:int"

TYPES: dict[str, str] = {
    "Pod": "spec:PodSpec status:PodStatus",
    "PodSpec": (
        "volumes:[Volume] initContainers:[Container] containers:[Container] ephemeralContainers:[Container] "
        "restartPolicy:str terminationGracePeriodSeconds:int activeDeadlineSeconds:int dnsPolicy:str "
        "nodeSelector:{str} serviceAccountName:str serviceAccount:str automountServiceAccountToken:bool nodeName:str "
        "hostNetwork:bool hostPID:bool hostIPC:bool hostUsers:bool shareProcessNamespace:bool "
        "securityContext:PodSecurityContext imagePullSecrets:[LocalObjectReference] hostname:str subdomain:str "
        "hostnameOverride:str setHostnameAsFQDN:bool affinity:Affinity schedulerName:str tolerations:[Toleration] "
        "hostAliases:[HostAlias] priorityClassName:str priority:int dnsConfig:PodDNSConfig "
        "readinessGates:[PodReadinessGate] runtimeClassName:str enableServiceLinks:bool preemptionPolicy:str "
        "overhead:{qty} topologySpreadConstraints:[TopologySpreadConstraint] os:PodOS "
        "schedulingGates:[PodSchedulingGate] "
        "resourceClaims:[PodResourceClaim] resources:ResourceRequirements"
    ),
    "Container": (
        "name:str image:str command:[str] args:[str] workingDir:str ports:[ContainerPort] envFrom:[EnvFromSource] "
        "env:[EnvVar] resources:ResourceRequirements resizePolicy:[ContainerResizePolicy] restartPolicy:str "
        "restartPolicyRules:[any] volumeMounts:[VolumeMount] volumeDevices:[VolumeDevice] livenessProbe:Probe "
        "readinessProbe:Probe startupProbe:Probe lifecycle:Lifecycle terminationMessagePath:str "
        "terminationMessagePolicy:str imagePullPolicy:str securityContext:SecurityContext stdin:bool stdinOnce:bool "
        "tty:bool targetContainerName:str"
    ),
    "ContainerPort": "name:str hostPort:int containerPort:int protocol:str hostIP:str",
    "ContainerResizePolicy": "resourceName:str restartPolicy:str",
    "EnvVar": "name:str value:str valueFrom:EnvVarSource",
    "EnvVarSource": (
        "fieldRef:ObjectFieldSelector resourceFieldRef:ResourceFieldSelector configMapKeyRef:KeySelector "
        "secretKeyRef:KeySelector fileKeyRef:any"
    ),
    "ObjectFieldSelector": "apiVersion:str fieldPath:str",
    "ResourceFieldSelector": "containerName:str resource:str divisor:qty",
    "KeySelector": "name:str key:str optional:bool",
    "EnvFromSource": "prefix:str configMapRef:OptionalReference secretRef:OptionalReference",
    "OptionalReference": "name:str optional:bool",
    "ResourceRequirements": "limits:{qty} requests:{qty} claims:[ResourceClaim]",
    "ResourceClaim": "name:str request:str",
    "VolumeMount": (
        "name:str readOnly:bool recursiveReadOnly:str mountPath:str subPath:str mountPropagation:str subPathExpr:str"
    ),
    "VolumeDevice": "name:str devicePath:str",
    "Probe": _PROBE,
    "ExecAction": "command:[str]",
    "HTTPGetAction": "path:str port:ios host:str scheme:str httpHeaders:[HTTPHeader]",
    "HTTPHeader": "name:str value:str",
    "TCPSocketAction": "port:ios host:str",
    "GRPCAction": "port:int service:str",
    "Lifecycle": "postStart:LifecycleHandler preStop:LifecycleHandler stopSignal:str",
    "LifecycleHandler": f"{_HANDLER} sleep:SleepAction",
    "SleepAction": "seconds:int",
    "SecurityContext": (
        "capabilities:Capabilities privileged:bool seLinuxOptions:SELinuxOptions windowsOptions:any runAsUser:int "
        "runAsGroup:int runAsNonRoot:bool readOnlyRootFilesystem:bool allowPrivilegeEscalation:bool procMount:str "
        "seccompProfile:Profile appArmorProfile:Profile"
    ),
    "Capabilities": "add:[str] drop:[str]",
    "SELinuxOptions": "user:str role:str type:str level:str",
    "Profile": "type:str localhostProfile:str",
    "PodSecurityContext": (
        "seLinuxOptions:SELinuxOptions windowsOptions:any runAsUser:int runAsGroup:int runAsNonRoot:bool "
        "supplementalGroups:[int] supplementalGroupsPolicy:str fsGroup:int sysctls:[Sysctl] fsGroupChangePolicy:str "
        "seccompProfile:Profile appArmorProfile:Profile seLinuxChangePolicy:str"
    ),
    "Sysctl": "name:str value:str",
    "LocalObjectReference": "name:str",
    "Affinity": "nodeAffinity:NodeAffinity podAffinity:PodAffinity podAntiAffinity:PodAffinity",
    "NodeAffinity": (
        "requiredDuringSchedulingIgnoredDuringExecution:NodeSelector "
        "preferredDuringSchedulingIgnoredDuringExecution:[PreferredSchedulingTerm]"
    ),
    "NodeSelector": "nodeSelectorTerms:[NodeSelectorTerm]",
    "NodeSelectorTerm": "matchExpressions:[LabelRequirement] matchFields:[LabelRequirement]",
    "PreferredSchedulingTerm": "weight:int preference:NodeSelectorTerm",
    "PodAffinity": (
        "requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm] "
        "preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm]"
    ),
    "PodAffinityTerm": (
        "labelSelector:LabelSelector namespaces:[str] topologyKey:str namespaceSelector:LabelSelector "
        "matchLabelKeys:[str] mismatchLabelKeys:[str]"
    ),
    "WeightedPodAffinityTerm": "weight:int podAffinityTerm:PodAffinityTerm",
    "LabelSelector": _LABEL_SELECTOR,
    "LabelRequirement": "key:str operator:str values:[str]",
    "Toleration": "key:str operator:str value:str effect:str tolerationSeconds:int",
    "HostAlias": "ip:str hostnames:[str]",
    "PodDNSConfig": "nameservers:[str] searches:[str] options:[PodDNSConfigOption]",
    "PodDNSConfigOption": "name:str value:str",
    "PodReadinessGate": "conditionType:str",
    "TopologySpreadConstraint": (
        "maxSkew:int topologyKey:str whenUnsatisfiable:str labelSelector:LabelSelector minDomains:int "
        "nodeAffinityPolicy:str nodeTaintsPolicy:str matchLabelKeys:[str]"
    ),
    "PodOS": "name:str",
    "PodSchedulingGate": "name:str",
    "PodResourceClaim": "name:str resourceClaimName:str resourceClaimTemplateName:str",
    "Volume": (
        "name:str hostPath:HostPathVolumeSource emptyDir:EmptyDirVolumeSource secret:SecretVolumeSource "
        "configMap:ConfigMapVolumeSource downwardAPI:DownwardAPIVolumeSource projected:ProjectedVolumeSource "
        "persistentVolumeClaim:ClaimVolumeSource nfs:NFSVolumeSource csi:any ephemeral:any image:any iscsi:any "
        "cephfs:any rbd:any fc:any glusterfs:any flexVolume:any azureFile:any azureDisk:any awsElasticBlockStore:any "
        "gcePersistentDisk:any gitRepo:any cinder:any flocker:any vsphereVolume:any quobyte:any "
        "photonPersistentDisk:any portworxVolume:any scaleIO:any storageos:any"
    ),
    "HostPathVolumeSource": "path:str type:str",
    "EmptyDirVolumeSource": "medium:str sizeLimit:qty",
    "SecretVolumeSource": "secretName:str items:[KeyToPath] defaultMode:int optional:bool",
    "ConfigMapVolumeSource": "name:str items:[KeyToPath] defaultMode:int optional:bool",
    "KeyToPath": "key:str path:str mode:int",
    "DownwardAPIVolumeSource": "items:[DownwardAPIVolumeFile] defaultMode:int",
    "DownwardAPIVolumeFile": ("path:str fieldRef:ObjectFieldSelector resourceFieldRef:ResourceFieldSelector mode:int"),
    "ProjectedVolumeSource": "sources:[VolumeProjection] defaultMode:int",
    "VolumeProjection": (
        "secret:KeyProjection configMap:KeyProjection downwardAPI:DownwardAPIProjection "
        "serviceAccountToken:ServiceAccountTokenProjection clusterTrustBundle:any podCertificate:any"
    ),
    "KeyProjection": "name:str items:[KeyToPath] optional:bool",
    "DownwardAPIProjection": "items:[DownwardAPIVolumeFile]",
    "ServiceAccountTokenProjection": "audience:str expirationSeconds:int path:str",
    "ClaimVolumeSource": "claimName:str readOnly:bool",
    "NFSVolumeSource": "server:str path:str readOnly:bool",
    "PodStatus": (
        "observedGeneration:int phase:str conditions:[PodCondition] message:str reason:str nominatedNodeName:str "
        "hostIP:str hostIPs:[IP] podIP:str podIPs:[IP] startTime:time initContainerStatuses:[ContainerStatus] "
        "containerStatuses:[ContainerStatus] ephemeralContainerStatuses:[ContainerStatus] qosClass:str resize:str "
        "resourceClaimStatuses:[any] extendedResourceClaimStatus:any"
    ),
    "PodCondition": f"{_CONDITION} lastProbeTime:time",
    "IP": "ip:str",
    "ContainerStatus": (
        "name:str state:ContainerState lastState:ContainerState ready:bool restartCount:int image:str imageID:str "
        "containerID:str started:bool allocatedResources:{qty} resources:ResourceRequirements volumeMounts:[any] "
        "user:any allocatedResourcesStatus:[any] stopSignal:str"
    ),
    "ContainerState": (
        "waiting:ContainerStateWaiting running:ContainerStateRunning terminated:ContainerStateTerminated"
    ),
    "ContainerStateWaiting": "reason:str message:str",
    "ContainerStateRunning": "startedAt:time",
    "ContainerStateTerminated": (
        "exitCode:int signal:int reason:str message:str startedAt:time finishedAt:time containerID:str"
    ),
    "Service": "spec:ServiceSpec status:any",
    "ServiceSpec": (
        "ports:[ServicePort] selector:{str} clusterIP:str clusterIPs:[str] type:str externalIPs:[str] "
        "sessionAffinity:str loadBalancerIP:str loadBalancerSourceRanges:[str] externalName:str "
        "externalTrafficPolicy:str healthCheckNodePort:int publishNotReadyAddresses:bool sessionAffinityConfig:any "
        "ipFamilies:[str] ipFamilyPolicy:str allocateLoadBalancerNodePorts:bool loadBalancerClass:str "
        "internalTrafficPolicy:str trafficDistribution:str"
    ),
    "ServicePort": "name:str protocol:str appProtocol:str port:int targetPort:ios nodePort:int",
    "ConfigMap": "immutable:bool data:{str} binaryData:{bytes}",
    "Secret": "immutable:bool data:{bytes} stringData:{str} type:str",
    "ServiceAccount": (
        "secrets:[ObjectReference] imagePullSecrets:[LocalObjectReference] automountServiceAccountToken:bool"
    ),
    "ObjectReference": ("kind:str namespace:str name:str uid:str apiVersion:str resourceVersion:str fieldPath:str"),
    "Event": (
        "involvedObject:ObjectReference reason:str message:str source:EventSource firstTimestamp:time "
        "lastTimestamp:time count:int type:str eventTime:time series:EventSeries action:str related:ObjectReference "
        "reportingComponent:str reportingInstance:str"
    ),
    "EventSource": "component:str host:str",
    "EventSeries": "count:int lastObservedTime:time",
    "Node": "spec:NodeSpec status:NodeStatus",
    "NodeSpec": (
        "podCIDR:str podCIDRs:[str] providerID:str unschedulable:bool taints:[Taint] configSource:any externalID:str"
    ),
    "Taint": "key:str value:str effect:str timeAdded:time",
    "NodeStatus": (
        "capacity:{qty} allocatable:{qty} phase:str conditions:[NodeCondition] addresses:[NodeAddress] "
        "daemonEndpoints:any nodeInfo:{any} images:[any] volumesInUse:[str] volumesAttached:[any] config:any "
        "runtimeHandlers:[any] features:any"
    ),
    "NodeCondition": f"{_CONDITION} lastHeartbeatTime:time",
    "NodeAddress": "type:str address:str",
    "Namespace": "spec:NamespaceSpec status:NamespaceStatus",
    "NamespaceSpec": "finalizers:[str]",
    "NamespaceStatus": "phase:str conditions:[any]",
    "Lease": "spec:LeaseSpec",
    "LeaseSpec": (
        "holderIdentity:str leaseDurationSeconds:int acquireTime:time renewTime:time leaseTransitions:int "
        "strategy:str preferredHolder:str"
    ),
    "PriorityClass": "value:int globalDefault:bool description:str preemptionPolicy:str",
    "NetworkPolicy": "spec:NetworkPolicySpec",
    "NetworkPolicySpec": (
        "podSelector:LabelSelector ingress:[NetworkPolicyIngressRule] egress:[NetworkPolicyEgressRule] "
        "policyTypes:[str]"
    ),
    "NetworkPolicyIngressRule": "ports:[NetworkPolicyPort] from:[NetworkPolicyPeer]",
    "NetworkPolicyEgressRule": "ports:[NetworkPolicyPort] to:[NetworkPolicyPeer]",
    "NetworkPolicyPort": "protocol:str port:ios endPort:int",
    "NetworkPolicyPeer": "podSelector:LabelSelector namespaceSelector:LabelSelector ipBlock:IPBlock",
    "IPBlock": "cidr:str except:[str]",
    "CustomResourceDefinition": "spec:CustomResourceDefinitionSpec status:any",
    "CustomResourceDefinitionSpec": (
        "group:str names:CustomResourceDefinitionNames scope:str versions:[CustomResourceDefinitionVersion] "
        "conversion:{any} preserveUnknownFields:bool"
    ),
    "CustomResourceDefinitionNames": (
        "plural:str singular:str shortNames:[str] kind:str listKind:str categories:[str]"
    ),
    "CustomResourceDefinitionVersion": (
        "name:str served:bool storage:bool deprecated:bool deprecationWarning:str schema:CustomResourceValidation "
        "subresources:CustomResourceSubresources additionalPrinterColumns:[CustomResourceColumnDefinition] "
        "selectableFields:[SelectableField]"
    ),
    "CustomResourceValidation": "openAPIV3Schema:JSONSchemaProps",
    "JSONSchemaProps": (
        "id:str $schema:str $ref:str description:str type:str format:str title:str default:any maximum:num "
        "exclusiveMaximum:bool minimum:num exclusiveMinimum:bool maxLength:int minLength:int pattern:str maxItems:int "
        "minItems:int uniqueItems:bool multipleOf:num enum:[any] maxProperties:int minProperties:int required:[str] "
        "items:JSONSchemaProps allOf:[JSONSchemaProps] oneOf:[JSONSchemaProps] anyOf:[JSONSchemaProps] "
        "not:JSONSchemaProps properties:{JSONSchemaProps} additionalProperties:schemaOrBool externalDocs:any "
        "example:any nullable:bool x-kubernetes-preserve-unknown-fields:bool x-kubernetes-embedded-resource:bool "
        "x-kubernetes-int-or-string:bool x-kubernetes-list-map-keys:[str] x-kubernetes-list-type:str "
        "x-kubernetes-map-type:str x-kubernetes-validations:[any]"
    ),
    "CustomResourceSubresources": "status:any scale:any",
    "CustomResourceColumnDefinition": "name:str type:str format:str description:str priority:int jsonPath:str",
    "SelectableField": "jsonPath:str",
    "DeleteOptions": (
        "apiVersion:str kind:str gracePeriodSeconds:int preconditions:Preconditions orphanDependents:bool "
        "propagationPolicy:str dryRun:[str] ignoreStoreReadErrorWithClusterBreakingPotential:bool"
    ),
    "Preconditions": "uid:str resourceVersion:str",
    "Binding": "apiVersion:str kind:str metadata:any target:ObjectReference",
    "Eviction": "apiVersion:str kind:str metadata:any deleteOptions:DeleteOptions",
}
