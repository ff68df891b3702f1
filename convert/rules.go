package convert

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The tables below list what keeps pods from being created although every value has the right form. Each rule holds for every
// supported API server, whatever its feature gates. A field that some API server drops is not listed, because the pod would run.
// The API server's own words follow a rule where they say more than the rule.

func ofKubernetes() []Rule {
	var all []Rule
	for _, some := range [][]Rule{ofPods(), ofContainers(), ofVariables(), ofCredentials(), ofProbes(), ofPlaces(), ofVolumes(), ofFiles()} {
		all = append(all, some...)
	}
	return all
}

func ofPods() []Rule {
	return []Rule{
		Advise[corev1.PodTemplateSpec](containersOfTemplate),
		Advise[corev1.PodSpec](fieldsOfContainers),
		Span[corev1.PodSpec](1, math.MaxInt32, "activeDeadlineSeconds"),
		Words(corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone),
		And[corev1.PodSpec](nameservers),         // must provide at least one DNS nameserver when `dnsPolicy` is None
		And[corev1.PodSpec](ephemeralContainers), // cannot be set on create
		spelt[corev1.PodSpec](labelForm, "hostname", "subdomain"),
		spelt[corev1.PodSpec](subdomainForm, "nodeName", "runtimeClassName", "priorityClassName"),
		And[corev1.PodSpec](podResources),
		And[corev1.PodSpec](claimedResources),
		And[corev1.PodSpec](hostPorts),
		And[corev1.PodSpec](namespacesOfHost),
		And[corev1.PodSpec](initContainers),
		And[corev1.PodSpec](devices),
		And[corev1.PodSpec](pauses),
		And[corev1.PodSpec](nameResolution),
		ExactlyOne[corev1.PodResourceClaim]("resourceClaimName", "resourceClaimTemplateName"),
		Words(corev1.PreemptNever, corev1.PreemptLowerPriority),
		Words(corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict),
		Words(corev1.DefaultProcMount, corev1.UnmaskedProcMount),
		And[corev1.PodSecurityContext](kernelSettings),
		And[corev1.SecurityContext](privileges),
		Need[corev1.PodDNSConfigOption]("name"),
		Need[corev1.HostAlias]("ip"),
		Need[corev1.PodOS]("name"),
		Words(corev1.Linux, corev1.Windows),
		Span[corev1.PodSecurityContext](0, math.MaxInt32, "runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"),
		Span[corev1.SecurityContext](0, math.MaxInt32, "runAsUser", "runAsGroup"),
		Words(corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways),
		Need[corev1.Sysctl]("name"),
		Need[corev1.SeccompProfile]("type"),
		Words(corev1.SeccompProfileTypeUnconfined, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeLocalhost),
		And[corev1.SeccompProfile](localhostProfile), // must be set when, can only be set when seccomp type is Localhost
		Need[corev1.AppArmorProfile]("type"),
		Words(corev1.AppArmorProfileTypeUnconfined, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeLocalhost),
		And[corev1.AppArmorProfile](localhostProfile),
		spelt[metav1.ObjectMeta](finalizerForm, "finalizers"),
		require[metav1.Condition]("type", "status", "lastTransitionTime", "reason", "message"), // as its schema does
	}
}

func ofContainers() []Rule {
	return []Rule{
		And[corev1.Container](probes),
		And[corev1.Container](propagation),
		And[corev1.ResourceRequirements](hugePages),
		Words(corev1.NotRequired, corev1.RestartContainer),
		Choice[corev1.ContainerResizePolicy]("resourceName", "cpu", "memory"),
		Words(corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever),
		Words(corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever),
		Words(corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError),
		Need[corev1.ContainerPort]("containerPort"),
		Span[corev1.ContainerPort](1, math.MaxUint16, "containerPort"),
		Span[corev1.ContainerPort](0, math.MaxUint16, "hostPort"), // 0 says the same as none
		Words(corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
		spelt[corev1.VolumeMount](descendingForm, "subPath", "subPathExpr"),
		And[corev1.VolumeMount](subPaths), // subPathExpr and subPath are mutually exclusive
		Need[corev1.VolumeDevice]("name", "devicePath"),
		Words(corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled),
		Words(corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional),
	}
}

func ofVariables() []Rule {
	return []Rule{
		ExactlyOne[corev1.EnvVarSource]("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"),
		Need[corev1.ConfigMapKeySelector]("name", "key"),
		spelt[corev1.ConfigMapKeySelector](subdomainForm, "name"),
		spelt[corev1.ConfigMapKeySelector](dataKeyForm, "key"),
		Need[corev1.SecretKeySelector]("name", "key"),
		spelt[corev1.SecretKeySelector](subdomainForm, "name"),
		spelt[corev1.SecretKeySelector](dataKeyForm, "key"),
		ExactlyOne[corev1.EnvFromSource]("configMapRef", "secretRef"),
		Need[corev1.ConfigMapEnvSource]("name"),
		spelt[corev1.ConfigMapEnvSource](subdomainForm, "name"),
		Need[corev1.SecretEnvSource]("name"),
		spelt[corev1.SecretEnvSource](subdomainForm, "name"),
		Need[corev1.ObjectFieldSelector]("fieldPath"),
		Need[corev1.ResourceFieldSelector]("resource"),
		And[corev1.EnvVarSource](fieldOfVariable),
		And[corev1.DownwardAPIVolumeFile](fieldOfFile),
		And[corev1.ResourceFieldSelector](resourceField),
	}
}

// ofCredentials lists fields that hold credentials under names of the user's choice. The sources of variables and annotations are
// hidden, too, because the value itself may be there by mistake.
func ofCredentials() []Rule {
	return []Rule{
		Hide[corev1.Container]("env", "envFrom"),
		Hide[corev1.EphemeralContainer]("env", "envFrom"),
		Hide[corev1.HTTPGetAction]("httpHeaders"),
		Hide[corev1.CSIVolumeSource]("volumeAttributes"),
		Hide[corev1.FlexVolumeSource]("options"),
		Hide[corev1.Secret]("data", "stringData"),
		Hide[metav1.ObjectMeta]("annotations"),
	}
}

func ofProbes() []Rule {
	return []Rule{
		ExactlyOne[corev1.Probe]("exec", "httpGet", "tcpSocket", "grpc"), // must specify a handler type; may not specify more than 1
		Span[corev1.Probe](0, math.MaxInt32, "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"),
		Span[corev1.Probe](1, math.MaxInt64, "terminationGracePeriodSeconds"),
		ExactlyOne[corev1.LifecycleHandler]("exec", "httpGet", "tcpSocket", "sleep"),
		Need[corev1.ExecAction]("command"),
		Need[corev1.HTTPGetAction]("port"),
		Span[corev1.HTTPGetAction](1, math.MaxUint16, "port"),
		spelt[corev1.HTTPGetAction](portForm, "port"),
		Words(corev1.URISchemeHTTP, corev1.URISchemeHTTPS),
		Need[corev1.HTTPHeader]("name"),
		And[corev1.HTTPHeader](httpHeader),
		Need[corev1.TCPSocketAction]("port"),
		Span[corev1.TCPSocketAction](1, math.MaxUint16, "port"),
		spelt[corev1.TCPSocketAction](portForm, "port"),
		Need[corev1.GRPCAction]("port"),
		Span[corev1.GRPCAction](1, math.MaxUint16, "port"),
	}
}

func ofPlaces() []Rule {
	return []Rule{
		spelt[corev1.Toleration](labelKeyForm, "key"),
		Words(corev1.TolerationOpExists, corev1.TolerationOpEqual, corev1.TolerationOpLt, corev1.TolerationOpGt),
		Words(corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute),
		And[corev1.Toleration](toleration),
		And[corev1.Toleration](toleratedValue),
		And[corev1.NodeSelectorTerm](matchFields),
		And[metav1.LabelSelector](selectedLabels),
		And[corev1.PodAffinityTerm](affinityNamespaces),
		And[corev1.TopologySpreadConstraint](spread),
		Need[corev1.NodeSelector]("nodeSelectorTerms"), // must have at least one node selector term
		Need[corev1.NodeSelectorRequirement]("key", "operator"),
		spelt[corev1.NodeSelectorRequirement](labelKeyForm, "key"),
		Words(corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
			corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt),
		And[corev1.NodeSelectorRequirement](operands), // must be specified when `operator` is 'In' or 'NotIn'
		Need[corev1.PreferredSchedulingTerm]("weight"),
		Span[corev1.PreferredSchedulingTerm](1, 100, "weight"),
		Need[corev1.WeightedPodAffinityTerm]("weight", "podAffinityTerm"),
		Span[corev1.WeightedPodAffinityTerm](1, 100, "weight"),
		Need[corev1.PodAffinityTerm]("topologyKey"),
		spelt[corev1.PodAffinityTerm](labelKeyForm, "topologyKey"),
		Need[metav1.LabelSelectorRequirement]("key", "operator"),
		spelt[metav1.LabelSelectorRequirement](labelKeyForm, "key"),
		Words(metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist),
		And[metav1.LabelSelectorRequirement](operands),
		Need[corev1.TopologySpreadConstraint]("maxSkew", "topologyKey", "whenUnsatisfiable"),
		Span[corev1.TopologySpreadConstraint](1, math.MaxInt32, "maxSkew", "minDomains"),
		Words(corev1.DoNotSchedule, corev1.ScheduleAnyway),
		Words(corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore),
		Need[corev1.PodReadinessGate]("conditionType"),
		spelt[corev1.PodReadinessGate](labelKeyForm, "conditionType"),
		Need[corev1.PodSchedulingGate]("name"),
		spelt[corev1.PodSchedulingGate](labelKeyForm, "name"),
	}
}

func ofVolumes() []Rule {
	return []Rule{
		Need[corev1.ConfigMapVolumeSource]("name"),
		Need[corev1.SecretVolumeSource]("secretName"),
		Need[corev1.PersistentVolumeClaimVolumeSource]("claimName"),
		Need[corev1.HostPathVolumeSource]("path"),
		And[corev1.HostPathVolumeSource](backsteps),
		Words(corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory, corev1.HostPathFileOrCreate, corev1.HostPathFile,
			corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev),
		Need[corev1.NFSVolumeSource]("server", "path"),
		spelt[corev1.NFSVolumeSource](absoluteForm, "path"),
		Need[corev1.CSIVolumeSource]("driver"),
		And[corev1.EmptyDirVolumeSource](sizeLimit), // SizeLimit field must be a valid resource quantity
		Need[corev1.EphemeralVolumeSource]("volumeClaimTemplate"),
		Need[corev1.PersistentVolumeClaimTemplate]("spec"),
		Need[corev1.PersistentVolumeClaimSpec]("accessModes", "resources"),
		Need[corev1.VolumeResourceRequirements]("requests"),
		Words(corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod),
		Words(corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem),
	}
}

// ofFiles lists the rules for files in a volume.
func ofFiles() []Rule {
	return []Rule{
		mode[corev1.ConfigMapVolumeSource]("defaultMode"),
		mode[corev1.SecretVolumeSource]("defaultMode"),
		mode[corev1.DownwardAPIVolumeSource]("defaultMode"),
		mode[corev1.ProjectedVolumeSource]("defaultMode"),
		Need[corev1.KeyToPath]("key", "path"),
		mode[corev1.KeyToPath]("mode"),
		spelt[corev1.KeyToPath](descendingForm, "path"),
		Need[corev1.ConfigMapProjection]("name"),
		Need[corev1.SecretProjection]("name"),
		Need[corev1.ServiceAccountTokenProjection]("path"),
		Span[corev1.ServiceAccountTokenProjection](600, 1<<32, "expirationSeconds"),
		Need[corev1.DownwardAPIVolumeFile]("path"),
		mode[corev1.DownwardAPIVolumeFile]("mode"),
		spelt[corev1.DownwardAPIVolumeFile](descendingForm, "path"),
		ExactlyOne[corev1.DownwardAPIVolumeFile]("fieldRef", "resourceFieldRef"),
	}
}
