package v2beta1

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"stoic/schema"
	"stoic/training"
)

const (
	launcher, worker = "Launcher", "Worker"

	openMPI, intel, mpich             = "OpenMPI", "Intel", "MPICH"
	atStartup, whenWorkersReady       = "AtStartup", "WaitForWorkersReady"
	rootSSH                           = "/root/.ssh"
	configPath                        = "/etc/mpi"
	hostfile                          = configPath + "/hostfile"
	sshArguments                      = "-o ConnectionAttempts=10"
	behindConfig, behindSSH           = "-config", "-ssh"
	volumeSSH, volumeConfig           = "ssh-auth", "mpi-job-config"
	labelApp                          = "app"
	replicaTypeVariable               = "K_MPI_JOB_ROLE"
	annotationQueue                   = "scheduling.volcano.sh/queue-name"
	managedByUs                       = "kubeflow.org/mpi-operator"
	defaultSlots                int32 = 1
)

// MPIJob returns the kind kubeflow.org/v2beta1 MPIJob: a launcher, which a batch/v1 Job runs, and workers.
func MPIJob() *training.Kind { return mpiJobKind }

// mpiJobKind is read-only: it is shared by every object of the kind.
var mpiJobKind = &training.Kind{
	Group: "kubeflow.org", Version: "v2beta1", Name: "MPIJob", Plural: "mpijobs", Singular: "mpijob",
	Framework: "mpi", Controller: "mpi-operator", ManagedBy: managedByUs,
	ReplicaSpecsField: "mpiReplicaSpecs",
	ReplicaTypes: []training.KnownReplicaType{
		{Name: launcher, Label: "launcher", Replicas: 1, Only: 1, Required: true, Unnumbered: true, NoService: true, Hostname: true,
			Batch: true, Restart: training.RestartOnFailure, Volumes: []string{volumeSSH, volumeConfig}},
		{Name: worker, Label: "worker", NoService: true, Hostname: true, AtLeast: 1, Restart: training.RestartNever, QuietRestart: true, Volumes: []string{volumeSSH}},
	},
	FirstContainer:  true,
	RestartPolicies: []training.RestartPolicy{training.RestartOnFailure, training.RestartNever},
	Wire:            reflect.TypeFor[MPIJobObject](),
	Own: []training.Default{
		{Path: "spec.slotsPerWorker", Value: "1"},
		{Path: "spec.runLauncherAsWorker", Value: "false"},
		{Path: "spec.sshAuthMountPath", Value: `"/root/.ssh"`},
		{Path: "spec.launcherCreationPolicy", Value: `"AtStartup"`},
		{Path: "spec.mpiImplementation", Value: `"OpenMPI"`},
	},

	Options:         func() any { return new(MPIJobOptions) },
	Check:           check,
	Lower:           lower,
	Warnings:        warnings,
	Annotations:     []training.NumberAnnotation{training.LauncherMinWorkers()},
	Environment:     environment,
	Variables:       documentedVariables(),
	Pod:             additions,
	Labels:          podLabels,
	Sentences:       sentences,
	QueueAnnotation: annotationQueue,
	GangOverrides:   true,

	SuspendedNotRunning: true,

	DependentKinds: []schema.Resource{schema.ConfigMaps(), schema.Secrets(), schema.Services(), schema.Jobs()},
	Unwatched:      []schema.Resource{schema.Secrets(), schema.Services()},
	Dependents:     dependents,
	DependentNames: []string{behindConfig, behindSSH},
}

// mpiJob is the normal form of MPIJobOptions.
type mpiJob struct {
	slots          int32
	launcherWorks  bool // runLauncherAsWorker
	sshPath        string
	implementation string
}

func ownOf(job *training.Job) mpiJob {
	own, _ := job.Own.(mpiJob)
	return own
}

func optionsOf(options any) *MPIJobOptions {
	if spec, ok := options.(*MPIJobOptions); ok && spec != nil {
		return spec
	}
	return &MPIJobOptions{}
}

// check checks what the wire types do not restrict in the kind's own fields. A null or an empty string means the default.
func check(options any, _ func(string) bool) (problems, warnings []schema.Problem) {
	spec := optionsOf(options)
	if n := spec.SlotsPerWorker; n != nil && *n < 0 {
		problems = append(problems, schema.Problem{Code: schema.OutOfRange, Path: "spec.slotsPerWorker", Found: fmt.Sprintf("number %d", *n),
			Want: "be 0 or more"})
	}
	problems = append(problems, checkSSHPath(deref(spec.SSHAuthMountPath))...)
	for _, choice := range []struct {
		field, value string
		legal        []string
	}{
		{"launcherCreationPolicy", deref(spec.LauncherCreationPolicy), []string{atStartup, whenWorkersReady}},
		{"mpiImplementation", deref(spec.MPIImplementation), []string{openMPI, intel, mpich}},
	} {
		if choice.value == "" || slices.Contains(choice.legal, choice.value) {
			continue
		}
		quoted := make([]string, len(choice.legal))
		for i := range quoted {
			quoted[i] = `"` + choice.legal[i] + `"`
		}
		problems = append(problems, schema.Problem{Code: schema.InvalidValue, Path: "spec." + choice.field, Found: schema.Quote(choice.value),
			Want: "be " + strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1], Hint: schema.DidYouMean(choice.value, choice.legal, "")})
	}
	return problems, warnings
}

// systemFolders returns folders that contain what every program needs, such as ssh and sshd, or that belong to the container
// runtime. A mount would hide their content.
func systemFolders() []string {
	return []string{"/", "/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/sbin"}
}

// checkSSHPath rejects paths with which a pod cannot start. It does not check whether the image finds the key there. The
// kubelet resolves a path without a leading slash from the root.
func checkSSHPath(at string) (problems []schema.Problem) {
	if at == "" {
		return nil
	}
	add := func(want, hint string) {
		problems = append(problems, schema.Problem{Code: schema.InvalidValue, Path: "spec.sshAuthMountPath", Found: schema.Quote(at), Want: want, Hint: hint})
	}
	if strings.Contains(at, ":") {
		add(`be a path without ":"`, "")
	}
	switch clean := path.Clean("/" + at); {
	case clean == configPath:
		add("be another path than "+configPath+", where the hostfile of the launcher is mounted", "")
	case slices.Contains(systemFolders(), clean), strings.HasPrefix(clean, "/proc/"), strings.HasPrefix(clean, "/sys/"):
		add("be a folder of its own, as the mount hides what the image has in "+clean, "take the folder .ssh of the user that the containers run as; leave it out for "+rootSSH)
	}
	return problems
}

// lower moves the limits of the job to the batch/v1 Job of the launcher, which also decides how the job ends. A failed
// worker only fails the job if the launcher still waits for it.
func lower(job *training.Job, options any) []schema.Problem {
	spec := optionsOf(options)
	own := mpiJob{slots: defaultSlots, launcherWorks: deref(spec.RunLauncherAsWorker), sshPath: rootSSH, implementation: openMPI}
	if spec.SlotsPerWorker != nil {
		own.slots = *spec.SlotsPerWorker
	}
	if at := deref(spec.SSHAuthMountPath); at != "" {
		own.sshPath = at
	}
	if name := deref(spec.MPIImplementation); name != "" {
		own.implementation = name
	}
	job.Own = own
	job.Success = training.Success{ReplicaType: launcher, Rule: training.SuccessBatch}
	job.Batch = training.BatchPolicy{Backoff: job.Policy.Backoff, Deadline: job.Policy.Deadline, Labels: map[string]string{labelApp: job.Meta.Name}}
	job.Policy.Backoff, job.Policy.Deadline = training.Limit{}, training.Limit{}
	if deref(spec.LauncherCreationPolicy) == whenWorkersReady {
		job.Batch.Awaits = worker
	}
	if workers := job.ReplicaType(worker); workers != nil {
		workers.Expendable = true
	}
	job.SetLauncherMinimum(launcher, worker, int(own.slots))
	if job.Policy.Scheduling.PriorityClass == "" {
		job.Policy.Scheduling.PriorityClass = priorityClass(job)
	}
	return tooLarge(job, own)
}

// warnings warns of a launcher that can never start its processes.
func warnings(job *training.Job) []schema.Problem {
	own := ownOf(job)
	hosts := 0
	if workers := job.ReplicaType(worker); workers != nil {
		hosts = workers.Replicas
	}
	if own.launcherWorks {
		hosts++
	}
	return job.WarnOfLauncherMinimum(launcher, hosts, int(own.slots))
}

// priorityClass returns the class of the gang: that of the launcher's pods, else that of the workers' pods.
func priorityClass(job *training.Job) string {
	for _, name := range []string{launcher, worker} {
		if rtype := job.ReplicaType(name); rtype != nil && rtype.PriorityClass() != "" {
			return rtype.PriorityClass()
		}
	}
	return ""
}

// sentences returns the messages of mpi-operator.
func sentences(job *training.Job) training.Sentences {
	name := job.Kind.Name + " " + job.Key()
	return training.Sentences{Created: name + " is created.", Running: name + " is running.", NotRunning: name + " is suspended.",
		Suspended: job.Kind.Name + " suspended", Resumed: job.Kind.Name + " resumed", Succeeded: name + " successfully completed.", Failed: name + " has failed",
		PodRestartPolicy: "Restart policy in pod template overridden by restart policy in replica spec"}
}

// deref returns the pointed-to value, or the zero value for nil.
func deref[T any](v *T) (value T) {
	if v != nil {
		value = *v
	}
	return value
}
