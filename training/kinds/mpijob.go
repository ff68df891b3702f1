package kinds

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// MPIJobObject runs MPI programs: a launcher that starts processes in workers.
// This is its wire form. The CRD is generated from it; it is never allocated.
//
// The first two columns are those that scripts parse; the others show with -o wide.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=mpijobs,singular=mpijob,shortName=mpij,categories=training,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.mpiReplicaSpecs.Worker.replicas,statuspath=.status.replicaStatuses.Worker.active,selectorpath=.status.replicaStatuses.Worker.selector
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name=Reason,type=string,priority=1,JSONPath=`.status.conditions[-1:].reason`
// +kubebuilder:printcolumn:name=Launcher,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Launcher.active`
// +kubebuilder:printcolumn:name=Worker,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Worker.active`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[-1:].message`
type MPIJobObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	Spec MPIJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	Status training.Status `json:"status,omitempty"`
}

// MPIJobSpec is the spec of an MPIJob in wire form.
type MPIJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy     training.RunPolicySpec `json:"runPolicy,omitempty"`
	MPIJobOptions `json:",inline"`
	// The replica types by name: Launcher, Worker.
	MPIReplicaSpecs map[string]training.ReplicaSpec `json:"mpiReplicaSpecs"`
}

// MPIJobOptions are the fields that only an MPIJob has.
type MPIJobOptions struct {
	// Processes that each worker takes. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SlotsPerWorker *int32 `json:"slotsPerWorker,omitempty"`
	// The same as runPolicy.cleanPodPolicy, which counts where both are set.
	// +optional
	// +kubebuilder:validation:Enum="";All;Running;None
	CleanPodPolicy *string `json:"cleanPodPolicy,omitempty"`
	// The container of a worker in which the launcher starts processes. Default: the one that kubectl exec takes.
	// +optional
	MainContainer string `json:"mainContainer,omitempty"`
}

const mpiLauncher, mpiWorker = "Launcher", "Worker"

// MPIJob returns the kind kubeflow.org/v1 MPIJob: a launcher, which reaches its workers by kubectl exec.
func MPIJob() *training.Kind { return mpiJobKind }

// mpiJobKind is read-only: it is shared by every object of the kind.
var mpiJobKind = &training.Kind{
	Group: "kubeflow.org", Version: "v1", Name: "MPIJob", Plural: "mpijobs", Singular: "mpijob",
	Framework: "mpi", Controller: "mpijob-controller",
	ReplicaSpecsField: "mpiReplicaSpecs",
	ReplicaTypes: []training.KnownReplicaType{
		{Name: mpiLauncher, Label: "launcher", Replicas: 1, Only: 1, Required: true, Unnumbered: true, NoService: true, After: mpiWorker,
			Volumes: []string{mpiKubectlVolume, mpiConfigVolume}},
		{Name: mpiWorker, Label: "worker", NoService: true, Volumes: []string{mpiConfigVolume}},
	},
	Container:      "mpi",
	FirstContainer: true,
	Restart:        training.RestartNever,

	Wire: reflect.TypeFor[MPIJobObject](),
	Own: []training.Default{
		{Path: "spec.slotsPerWorker", Value: "1"},
		{Path: "spec.cleanPodPolicy", Means: "what `runPolicy.cleanPodPolicy` says"},
		{Path: "spec.mainContainer", Value: `""`, Means: "kubectl exec chooses: the first, or the one that the annotation `kubectl.kubernetes.io/default-container` names"},
	},

	DependentKinds: []schema.Resource{schema.ConfigMaps(), training.ServiceAccounts(), training.Roles(), training.RoleBindings()},
	DependentNames: []string{mpiConfigSuffix, mpiLauncherSuffix},
	Dependents:     mpiDependents,
	Annotations:    []training.NumberAnnotation{training.LauncherMinWorkers()},

	Options:     func() any { return new(MPIJobOptions) },
	Check:       checkMPIJob,
	Lower:       lowerMPIJob,
	Warnings:    warnMPIJob,
	Environment: mpiEnvironment,
	Variables: slices.Concat(
		rendezvousVariables("the launcher", "OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_default_hostfile"),
		preferredVariables("a launcher without GPUs of its own", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"),
		preferredVariables("the launcher", "I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC", "PRTE_MCA_plm_ssh_agent", "PRTE_MCA_prte_default_hostfile", "HYDRA_LAUNCHER", "HYDRA_LAUNCHER_EXEC"),
		preferredVariables("a launcher without `hostNetwork`", "HYDRA_IFACE"),
		preferredVariables("the launcher of a job with a dot in its name", "OMPI_MCA_orte_keep_fqdn_hostnames", "PRTE_MCA_prte_keep_fqdn_hostnames"),
	),
	Init:      mpiInitContainers,
	Pod:       mpiPod,
	Sentences: mpiSentences,

	Unlike: training.UnlikeVersion{Name: "v2beta1",
		Want: "have none: this operator starts the processes of a job of kubeflow.org/v1 by kubectl exec, and an image for v2beta1 expects SSH",
		Hint: "submit it as kubeflow.org/v1; if its image runs in that way, remove the annotation"},
}

// mpiJob is the normal form of MPIJobOptions, and what follows from the templates.
type mpiJob struct {
	slots int
	main  string // container of the workers, or empty
	// gpu: the launcher computes, too.
	gpu bool
	// account is the service account in the template of the launcher, or empty.
	account string
	// hostNetwork: the launcher has the interfaces of its node, whatever their names.
	hostNetwork bool
	// idle: the first container of the workers has no command.
	idle bool
}

func mpiOptions(options any) *MPIJobOptions {
	if spec, ok := options.(*MPIJobOptions); ok && spec != nil {
		return spec
	}
	return &MPIJobOptions{}
}

// checkMPIJob returns problems of values that the API server may accept.
func checkMPIJob(options any, _ func(string) bool) (problems, warnings []schema.Problem) {
	spec := mpiOptions(options)
	if slots := spec.SlotsPerWorker; slots != nil && *slots < 0 {
		problems = append(problems, schema.Problem{Code: schema.OutOfRange, Path: "spec.slotsPerWorker", Found: fmt.Sprintf("number %d", *slots),
			Want: "be 0 or more", Hint: "leave it out for 1"})
	}
	if policy := deref(spec.CleanPodPolicy); policy != "" && !slices.Contains(training.CleanPodPolicies(), policy) {
		hint := schema.DidYouMean(policy, training.CleanPodPolicies(), "leave it out for `runPolicy.cleanPodPolicy`")
		problems = append(problems, schema.Problem{Code: schema.InvalidValue, Path: "spec.cleanPodPolicy", Found: schema.Quote(policy),
			Want: `be "All", "Running" or "None"`, Hint: hint})
	}
	return problems, nil
}

// containerName matches what the API server accepts as the name of a container: a DNS label.
func containerName() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
}

// lowerMPIJob sets the success rule, by which the job succeeds with its launcher, and mpiJob.
func lowerMPIJob(job *training.Job, options any) (problems []schema.Problem) {
	spec := mpiOptions(options)
	own := mpiJob{slots: 1, main: spec.MainContainer}
	if spec.SlotsPerWorker != nil {
		own.slots = int(*spec.SlotsPerWorker)
	}
	if job.Policy.CleanPods == "" && spec.CleanPodPolicy != nil {
		job.Policy.CleanPods = training.CleanPodPolicy(*spec.CleanPodPolicy)
	}
	job.Success = training.Success{ReplicaType: mpiLauncher, Rule: training.SuccessAll, Whole: true}
	if launcher := job.ReplicaType(mpiLauncher); launcher != nil {
		pod := mpiPodOf(launcher.Template)
		own.gpu = pod.hasGPU()
		own.account = pod.account()
		own.hostNetwork = pod.Spec.HostNetwork
	}
	if worker := job.ReplicaType(mpiWorker); worker != nil {
		pod := mpiPodOf(worker.Template)
		own.idle = len(pod.Spec.Containers) > 0 && len(pod.Spec.Containers[0].Command) == 0
		if own.main != "" && len(pod.Spec.Containers) > 0 && !pod.hasContainer(own.main) {
			problems = append(problems, schema.Problem{Code: schema.InvalidValue, Path: "spec.mainContainer", Found: schema.Quote(own.main),
				Want: "be the name of a container of the workers", Hint: "leave it out for the first one"})
		}
	}
	if own.main != "" && job.ReplicaType(mpiWorker) == nil && !containerName().MatchString(own.main) { // it is inserted into a script nevertheless
		problems = append(problems, schema.Problem{Code: schema.InvalidValue, Path: "spec.mainContainer", Found: schema.Quote(own.main),
			Want: "be the name of a container", Hint: "leave it out: there are no workers"})
	}
	job.Own = own
	job.SetLauncherMinimum(mpiLauncher, mpiWorker, own.slots)
	if size := mpiConfigSize(job, own); size > training.ConfigMapLimit {
		problems = append(problems, training.ConfigMapTooLarge("spec.mpiReplicaSpecs.Worker.replicas", job.ReplicaType(mpiWorker).Replicas, size))
	}
	return problems
}

// warnMPIJob warns of a launcher that cannot reach its workers, or can never start its processes.
func warnMPIJob(job *training.Job) []schema.Problem {
	own, _ := job.Own.(mpiJob)
	hosts := 0
	if workers := job.ReplicaType(mpiWorker); workers != nil {
		hosts = workers.Replicas
	}
	if own.gpu {
		hosts++ // the launcher is one
	}
	return append(warnWithoutToken(job), job.WarnOfLauncherMinimum(mpiLauncher, hosts, own.slots)...)
}

// warnWithoutToken warns of a launcher that may not exec into its workers.
func warnWithoutToken(job *training.Job) []schema.Problem {
	launcher := job.ReplicaType(mpiLauncher)
	if launcher == nil || job.ReplicaType(mpiWorker) == nil {
		return nil
	}
	pod := mpiPodOf(launcher.Template)
	mounts := pod.Spec.AutomountToken == nil || *pod.Spec.AutomountToken
	if mounts || mentionsAny(launcher.Template, `"serviceAccountToken"`) { // of a projected volume
		return nil
	}
	return []schema.Problem{{Code: schema.Conflict, Path: "spec.mpiReplicaSpecs.Launcher.template.spec.automountServiceAccountToken", Found: "false",
		Hint: "the launcher starts processes in its workers by kubectl exec, which needs the token; leave it out"}}
}

// mpiTemplate is what the kind reads of a pod template. The converter has checked it; unreadable fields stay empty.
type mpiTemplate struct {
	Spec struct {
		ServiceAccountName string `json:"serviceAccountName"`
		ServiceAccount     string `json:"serviceAccount"`
		HostNetwork        bool   `json:"hostNetwork"`
		AutomountToken     *bool  `json:"automountServiceAccountToken"`
		Containers         []struct {
			Name      string   `json:"name"`
			Command   []string `json:"command"`
			Resources struct {
				Limits map[string]json.RawMessage `json:"limits"`
			} `json:"resources"`
		} `json:"containers"`
	} `json:"spec"`
}

func mpiPodOf(template []byte) (pod mpiTemplate) {
	_ = json.Unmarshal(template, &pod) // continues behind what it cannot read
	return pod
}

func (p *mpiTemplate) account() string {
	if p.Spec.ServiceAccountName != "" {
		return p.Spec.ServiceAccountName
	}
	return p.Spec.ServiceAccount
}

// hasGPU reports whether a container has a limit of a resource with "gpu" in its name.
func (p *mpiTemplate) hasGPU() bool {
	for _, c := range p.Spec.Containers {
		for name := range c.Resources.Limits {
			if strings.Contains(name, "gpu") {
				return true
			}
		}
	}
	return false
}

func (p *mpiTemplate) hasContainer(name string) bool {
	for _, c := range p.Spec.Containers {
		if c.Name == name {
			return true
		}
	}
	return false
}

func mpiSentences(job *training.Job) training.Sentences {
	name := job.Kind.Name + " " + job.Meta.Name
	return training.Sentences{Running: name + " is running.", Succeeded: name + " is successfully completed.", Failed: name + " is failed because"}
}
