package convert

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// The tables below say what keeps the pods of a job from being created though every value has the right form. Each
// rule holds for every API server that is served, whatever its feature gates: a field that one of them would drop is
// not in here, as the pod would run. The API server's own words stand behind a rule where they say more than it does.

func rules() []rule {
	var all []rule
	for _, some := range [][]rule{ofJobs(), ofPods(), ofContainers(), ofVariables(), ofProbes(), ofPlaces(), ofVolumes(), ofFiles()} {
		all = append(all, some...)
	}
	return all
}

func ofJobs() []rule {
	return []rule{
		span[schema.RunPolicySpec](0, math.MaxInt32, "ttlSecondsAfterFinished", "backoffLimit"),
		span[schema.RunPolicySpec](0, math.MaxInt64, "activeDeadlineSeconds"),
		span[schema.SchedulingPolicySpec](0, math.MaxInt32, "minAvailable", "scheduleTimeoutSeconds"),
		span[schema.ReplicaSpec](0, schema.MaxReplicas, "replicas"),
		choice[schema.RunPolicySpec]("cleanPodPolicy", schema.CleanPodPolicies()...),
		choice[schema.ReplicaSpec]("restartPolicy", schema.RestartPolicies()...),
	}
}

func ofPods() []rule {
	return []rule{
		span[corev1.PodSpec](1, math.MaxInt32, "activeDeadlineSeconds"),
		words(corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone),
		and[corev1.PodSpec](nameservers),         // must provide at least one DNS nameserver when `dnsPolicy` is None
		and[corev1.PodSpec](ephemeralContainers), // cannot be set on create
		spelt[corev1.PodSpec](labelForm, "hostname", "subdomain"),
		spelt[corev1.PodSpec](subdomainForm, "nodeName", "runtimeClassName"),
		need[corev1.PodDNSConfigOption]("name"),
		need[corev1.HostAlias]("ip"),
		need[corev1.PodOS]("name"),
		words(corev1.Linux, corev1.Windows),
		span[corev1.PodSecurityContext](0, math.MaxInt32, "runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"),
		span[corev1.SecurityContext](0, math.MaxInt32, "runAsUser", "runAsGroup"),
		words(corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways),
		need[corev1.Sysctl]("name"),
		need[corev1.SeccompProfile]("type"),
		words(corev1.SeccompProfileTypeUnconfined, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeLocalhost),
		and[corev1.SeccompProfile](localhostProfile), // must be set when, can only be set when seccomp type is Localhost
		need[corev1.AppArmorProfile]("type"),
		words(corev1.AppArmorProfileTypeUnconfined, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeLocalhost),
		and[corev1.AppArmorProfile](localhostProfile),
		spelt[metav1.ObjectMeta](finalizerForm, "finalizers"),
	}
}

func ofContainers() []rule {
	return []rule{
		words(corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever),
		words(corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever),
		words(corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError),
		need[corev1.ContainerPort]("containerPort"),
		span[corev1.ContainerPort](1, math.MaxUint16, "containerPort"),
		span[corev1.ContainerPort](0, math.MaxUint16, "hostPort"), // 0 says the same as none
		words(corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
		spelt[corev1.VolumeMount](descendingForm, "subPath", "subPathExpr"),
		and[corev1.VolumeMount](subPaths), // subPathExpr and subPath are mutually exclusive
		need[corev1.VolumeDevice]("name", "devicePath"),
		words(corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled),
		words(corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional),
	}
}

func ofVariables() []rule {
	return []rule{
		exactlyOne[corev1.EnvVarSource]("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"),
		need[corev1.ConfigMapKeySelector]("name", "key"),
		spelt[corev1.ConfigMapKeySelector](subdomainForm, "name"),
		spelt[corev1.ConfigMapKeySelector](dataKeyForm, "key"),
		need[corev1.SecretKeySelector]("name", "key"),
		spelt[corev1.SecretKeySelector](subdomainForm, "name"),
		spelt[corev1.SecretKeySelector](dataKeyForm, "key"),
		exactlyOne[corev1.EnvFromSource]("configMapRef", "secretRef"),
		need[corev1.ConfigMapEnvSource]("name"),
		spelt[corev1.ConfigMapEnvSource](subdomainForm, "name"),
		need[corev1.SecretEnvSource]("name"),
		spelt[corev1.SecretEnvSource](subdomainForm, "name"),
		need[corev1.ObjectFieldSelector]("fieldPath"),
		need[corev1.ResourceFieldSelector]("resource"),
	}
}

func ofProbes() []rule {
	return []rule{
		exactlyOne[corev1.Probe]("exec", "httpGet", "tcpSocket", "grpc"), // must specify a handler type; may not specify more than 1
		span[corev1.Probe](0, math.MaxInt32, "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"),
		span[corev1.Probe](1, math.MaxInt64, "terminationGracePeriodSeconds"),
		exactlyOne[corev1.LifecycleHandler]("exec", "httpGet", "tcpSocket", "sleep"),
		need[corev1.ExecAction]("command"),
		need[corev1.HTTPGetAction]("port"),
		span[corev1.HTTPGetAction](1, math.MaxUint16, "port"),
		spelt[corev1.HTTPGetAction](portForm, "port"),
		words(corev1.URISchemeHTTP, corev1.URISchemeHTTPS),
		need[corev1.HTTPHeader]("name"),
		need[corev1.TCPSocketAction]("port"),
		span[corev1.TCPSocketAction](1, math.MaxUint16, "port"),
		spelt[corev1.TCPSocketAction](portForm, "port"),
		need[corev1.GRPCAction]("port"),
		span[corev1.GRPCAction](1, math.MaxUint16, "port"),
	}
}

func ofPlaces() []rule {
	return []rule{
		spelt[corev1.Toleration](labelKeyForm, "key"),
		words(corev1.TolerationOpExists, corev1.TolerationOpEqual, corev1.TolerationOpLt, corev1.TolerationOpGt),
		words(corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute),
		and[corev1.Toleration](toleration),
		need[corev1.NodeSelector]("nodeSelectorTerms"), // must have at least one node selector term
		need[corev1.NodeSelectorRequirement]("key", "operator"),
		spelt[corev1.NodeSelectorRequirement](labelKeyForm, "key"),
		words(corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
			corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt),
		and[corev1.NodeSelectorRequirement](operands), // must be specified when `operator` is 'In' or 'NotIn'
		need[corev1.PreferredSchedulingTerm]("weight"),
		span[corev1.PreferredSchedulingTerm](1, 100, "weight"),
		need[corev1.WeightedPodAffinityTerm]("weight", "podAffinityTerm"),
		span[corev1.WeightedPodAffinityTerm](1, 100, "weight"),
		need[corev1.PodAffinityTerm]("topologyKey"),
		spelt[corev1.PodAffinityTerm](labelKeyForm, "topologyKey"),
		need[metav1.LabelSelectorRequirement]("key", "operator"),
		spelt[metav1.LabelSelectorRequirement](labelKeyForm, "key"),
		words(metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist),
		and[metav1.LabelSelectorRequirement](operands),
		need[corev1.TopologySpreadConstraint]("maxSkew", "topologyKey", "whenUnsatisfiable"),
		span[corev1.TopologySpreadConstraint](1, math.MaxInt32, "maxSkew", "minDomains"),
		words(corev1.DoNotSchedule, corev1.ScheduleAnyway),
		words(corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore),
		need[corev1.PodReadinessGate]("conditionType"),
		spelt[corev1.PodReadinessGate](labelKeyForm, "conditionType"),
		need[corev1.PodSchedulingGate]("name"),
		spelt[corev1.PodSchedulingGate](labelKeyForm, "name"),
	}
}

func ofVolumes() []rule {
	return []rule{
		need[corev1.ConfigMapVolumeSource]("name"),
		need[corev1.SecretVolumeSource]("secretName"),
		need[corev1.PersistentVolumeClaimVolumeSource]("claimName"),
		need[corev1.HostPathVolumeSource]("path"),
		words(corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory, corev1.HostPathFileOrCreate, corev1.HostPathFile,
			corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev),
		need[corev1.NFSVolumeSource]("server", "path"),
		spelt[corev1.NFSVolumeSource](absoluteForm, "path"),
		need[corev1.CSIVolumeSource]("driver"),
		and[corev1.EmptyDirVolumeSource](sizeLimit), // SizeLimit field must be a valid resource quantity
		need[corev1.EphemeralVolumeSource]("volumeClaimTemplate"),
		need[corev1.PersistentVolumeClaimTemplate]("spec"),
		need[corev1.PersistentVolumeClaimSpec]("accessModes", "resources"),
		need[corev1.VolumeResourceRequirements]("requests"),
		words(corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod),
		words(corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem),
	}
}

// ofFiles that stand in a volume.
func ofFiles() []rule {
	return []rule{
		mode[corev1.ConfigMapVolumeSource]("defaultMode"),
		mode[corev1.SecretVolumeSource]("defaultMode"),
		mode[corev1.DownwardAPIVolumeSource]("defaultMode"),
		mode[corev1.ProjectedVolumeSource]("defaultMode"),
		need[corev1.KeyToPath]("key", "path"),
		mode[corev1.KeyToPath]("mode"),
		spelt[corev1.KeyToPath](descendingForm, "path"),
		need[corev1.ConfigMapProjection]("name"),
		need[corev1.SecretProjection]("name"),
		need[corev1.ServiceAccountTokenProjection]("path"),
		span[corev1.ServiceAccountTokenProjection](600, 1<<32, "expirationSeconds"),
		need[corev1.DownwardAPIVolumeFile]("path"),
		mode[corev1.DownwardAPIVolumeFile]("mode"),
		spelt[corev1.DownwardAPIVolumeFile](descendingForm, "path"),
		exactlyOne[corev1.DownwardAPIVolumeFile]("fieldRef", "resourceFieldRef"),
	}
}
