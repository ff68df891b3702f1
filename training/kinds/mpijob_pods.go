package kinds

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"stoic/schema"
	"stoic/training"
)

const (
	mpiConfigSuffix, mpiLauncherSuffix = "-config", "-launcher"

	mpiConfigVolume, mpiConfigPath   = "mpi-job-config", "/etc/mpi"
	mpiKubectlVolume, mpiKubectlPath = "mpi-job-kubectl", "/opt/kube"

	mpiHostfile, mpiDiscover, mpiExec = "hostfile", "discover_hosts.sh", "kubexec.sh"
)

// mpiEnvironment returns the variables by which the launcher's MPI finds and reaches the workers: through kubexec.sh, which
// replaces rsh. Each implementation has its own variables. Open MPI 5 reads PRTE_MCA_* instead of OMPI_MCA_orte_*; without
// them it runs on the launcher alone and succeeds. Variables of the user win over all except the first two.
//
//	OMPI_MCA_plm_rsh_agent, OMPI_MCA_orte_default_hostfile     Open MPI up to 4
//	NVIDIA_VISIBLE_DEVICES, NVIDIA_DRIVER_CAPABILITIES         empty, unless the launcher has GPUs of its own
//	I_MPI_HYDRA_BOOTSTRAP, I_MPI_HYDRA_BOOTSTRAP_EXEC          Intel MPI
//	PRTE_MCA_plm_ssh_agent, PRTE_MCA_prte_default_hostfile     Open MPI 5
//	HYDRA_LAUNCHER, HYDRA_LAUNCHER_EXEC                        MPICH; it cannot read this hostfile: the user sets -hosts
//	HYDRA_IFACE                                                MPICH, in the network of pods: the processes in the workers
//	                                                           connect to an address; the launcher has no name in DNS
//	OMPI_MCA_orte_keep_fqdn_hostnames,                         where the job's name has a dot: Open MPI would cut the names of
//	PRTE_MCA_prte_keep_fqdn_hostnames                          workers there
func mpiEnvironment(job *training.Job) func(*training.ReplicaType, int) []training.EnvVar {
	own, _ := job.Own.(mpiJob)
	const agent, hosts = mpiConfigPath + "/" + mpiExec, mpiConfigPath + "/" + mpiHostfile
	launcher := []training.EnvVar{{Name: "OMPI_MCA_plm_rsh_agent", Value: agent}, {Name: "OMPI_MCA_orte_default_hostfile", Value: hosts}}
	preferences := []training.EnvVar{
		{Name: "I_MPI_HYDRA_BOOTSTRAP", Value: "rsh"}, {Name: "I_MPI_HYDRA_BOOTSTRAP_EXEC", Value: agent},
		{Name: "PRTE_MCA_plm_ssh_agent", Value: agent}, {Name: "PRTE_MCA_prte_default_hostfile", Value: hosts},
		{Name: "HYDRA_LAUNCHER", Value: "rsh"}, {Name: "HYDRA_LAUNCHER_EXEC", Value: agent},
	}
	if !own.gpu {
		preferences = slices.Insert(preferences, 0, training.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES"}, training.EnvVar{Name: "NVIDIA_DRIVER_CAPABILITIES"})
	}
	if !own.hostNetwork {
		preferences = append(preferences, training.EnvVar{Name: "HYDRA_IFACE", Value: "eth0"}) // the name that Kubernetes gives it
	}
	if strings.Contains(job.Meta.Name, ".") {
		preferences = append(preferences, training.EnvVar{Name: "OMPI_MCA_orte_keep_fqdn_hostnames", Value: "true"},
			training.EnvVar{Name: "PRTE_MCA_prte_keep_fqdn_hostnames", Value: "true"})
	}
	for _, v := range preferences {
		v.UserWins = true
		launcher = append(launcher, v)
	}
	return func(rtype *training.ReplicaType, _ int) []training.EnvVar {
		if rtype.Name != mpiLauncher {
			return nil
		}
		return launcher
	}
}

// mpiInitContainers returns the init container that copies kubectl into the launcher.
func mpiInitContainers(job *training.Job, rtype *training.ReplicaType) []json.RawMessage {
	if rtype.Name != mpiLauncher {
		return nil
	}
	type variable struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	return []json.RawMessage{schema.JSON(map[string]any{
		"name": training.KubectlName, "image": cmp.Or(job.Kind.Cluster.KubectlImage, training.KubectlImage), "imagePullPolicy": "IfNotPresent",
		"env":          []variable{{"TARGET_DIR", mpiKubectlPath}, {"NAMESPACE", job.Meta.Namespace}},
		"volumeMounts": []json.RawMessage{mpiMount(mpiKubectlVolume, mpiKubectlPath), mpiMount(mpiConfigVolume, mpiConfigPath)},
	})}
}

func mpiMount(name, path string) json.RawMessage {
	return schema.JSON(map[string]string{"name": name, "mountPath": path})
}

// mpiPod returns the additions to a pod. A worker without a command sleeps until processes are started in it.
func mpiPod(job *training.Job, rtype *training.ReplicaType) training.PodAdditions {
	own, _ := job.Own.(mpiJob)
	config := mpiMount(mpiConfigVolume, mpiConfigPath)
	if rtype.Name != mpiLauncher {
		worker := training.PodAdditions{Volumes: []json.RawMessage{mpiConfig(job, mpiExec)}, Mounts: []json.RawMessage{config}}
		if own.idle {
			worker.Container = map[string]json.RawMessage{"command": json.RawMessage(`["sleep"]`), "args": json.RawMessage(`["365d"]`)}
		}
		return worker
	}
	launcher := training.PodAdditions{
		Volumes: []json.RawMessage{
			schema.JSON(map[string]any{"name": mpiKubectlVolume, "emptyDir": struct{}{}}), mpiConfig(job, mpiExec, mpiHostfile, mpiDiscover)},
		Mounts: []json.RawMessage{mpiMount(mpiKubectlVolume, mpiKubectlPath), config},
	}
	if own.account == "" {
		launcher.Spec = map[string]json.RawMessage{"serviceAccountName": schema.JSON(job.Meta.Name + mpiLauncherSuffix)}
	}
	return launcher
}

// mpiConfig returns the volume with some files of the ConfigMap. Every user can execute the scripts.
func mpiConfig(job *training.Job, files ...string) json.RawMessage {
	type item struct {
		Key  string `json:"key"`
		Path string `json:"path"`
		Mode int    `json:"mode"`
	}
	var items []item
	for _, file := range files {
		mode := 0o555
		if file == mpiHostfile {
			mode = 0o444
		}
		items = append(items, item{file, file, mode})
	}
	return schema.JSON(map[string]any{"name": mpiConfigVolume,
		"configMap": map[string]any{"name": job.Meta.Name + mpiConfigSuffix, "items": items}})
}

// mpiDependents returns what a launcher needs to start processes in its workers and in no other pod.
//
//	ServiceAccount   that of the launcher
//	ConfigMap        the names of the workers, and the script that reaches them
//	Role             allows to read pods, and to exec into the workers, by their names
//	RoleBinding      binds the Role to the launcher's service account
//
// No pod is created before the first two exist: otherwise it could use foreign objects of these names. The other two are
// created when the launcher may start, so that they need no update then. The launcher waits until all four are up to date:
// otherwise it would find no host, or its exec would be forbidden. The RoleBinding is created after the Role: otherwise it
// could grant a foreign Role of that name.
func mpiDependents(job *training.Job, running training.RunningReplicas) []training.Dependent {
	own, _ := job.Own.(mpiJob)
	launcher, app := job.Meta.Name+mpiLauncherSuffix, map[string]string{"app": job.Meta.Name}
	account := training.Dependent{Resource: training.ServiceAccounts(), Name: launcher, Labels: app, Gate: training.GateExists}
	if own.account != "" {
		account.Name, account.Gate, account.Shared = own.account, training.NoGate, true
	}
	config := training.Dependent{Resource: schema.ConfigMaps(), Name: job.Meta.Name + mpiConfigSuffix, Labels: app, Gate: training.GateExists, Before: mpiLauncher, Lazy: true, Follows: []schema.Resource{schema.Pods()}}
	files := map[string]string{mpiHostfile: mpiHosts(job, own), mpiExec: mpiScript(own)}
	workers, known := running[mpiWorker]
	if known || job.ReplicaType(mpiWorker) == nil {
		files[mpiDiscover] = mpiRunning(job, own, mpiNames(job, workers.Running))
	} else { // the launcher starts when they run
		config.ContentOnce = map[string]json.RawMessage{"data": schema.JSON(map[string]string{mpiDiscover: mpiRunning(job, own, mpiWorkers(job))})}
	}
	config.Content = map[string]json.RawMessage{"data": schema.JSON(files)}
	role := training.Dependent{Resource: training.Roles(), Name: launcher, Labels: app, Gate: training.GateExists, Before: mpiLauncher, Late: true, Follows: []schema.Resource{schema.Pods()},
		Content: map[string]json.RawMessage{"rules": schema.JSON(mpiRules(job, workers.Begun))}}
	binding := training.Dependent{Resource: training.RoleBindings(), Name: launcher, Labels: app, Gate: training.GateExists, Before: mpiLauncher, Late: true, Behind: training.Roles(),
		Content: map[string]json.RawMessage{
			"roleRef":  schema.JSON(map[string]string{"apiGroup": training.Roles().Group, "kind": training.Roles().Kind, "name": launcher}),
			"subjects": schema.JSON([]map[string]string{{"kind": training.ServiceAccounts().Kind, "name": account.Name, "namespace": job.Meta.Namespace}}),
		}}
	return []training.Dependent{account, config, role, binding}
}

// mpiRule is one rule of a Role.
type mpiRule struct {
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames,omitempty"`
	Verbs         []string `json:"verbs"`
}

// mpiRules returns the rules that let a launcher exec into the workers with these indices: those that have started and whose
// pods exist. Other names could be those of foreign pods. The name of a pod that has ended grants nothing, and its removal
// would cost a write. Before the launcher starts, and while it has no workers, there is no rule for pods/exec: without names
// it would grant access to all pods of the namespace.
func mpiRules(job *training.Job, indices []int) []mpiRule {
	rules := []mpiRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}}}
	if len(indices) == 0 {
		return rules
	}
	return append(rules, mpiRule{APIGroups: []string{""}, Resources: []string{"pods/exec"}, ResourceNames: mpiNames(job, indices), Verbs: []string{"create"}})
}

// mpiNames returns the names of the workers with these indices.
func mpiNames(job *training.Job, indices []int) []string {
	names, worker := make([]string, len(indices)), job.Kind.ReplicaType(mpiWorker)
	for i, index := range indices {
		names[i] = worker.Child(job.Meta.Name, index)
	}
	return names
}

// mpiWorkers returns the names of all workers.
func mpiWorkers(job *training.Job) []string {
	worker := job.ReplicaType(mpiWorker)
	if worker == nil {
		return nil
	}
	names := make([]string, worker.Replicas)
	for i := range names {
		names[i] = worker.Child(job.Meta.Name, i)
	}
	return names
}

// mpiHosts returns the hostfile. A launcher that has GPUs is one of the hosts.
func mpiHosts(job *training.Job, own mpiJob) string {
	var text strings.Builder
	slots := " slots=" + strconv.Itoa(own.slots) + "\n"
	if own.gpu {
		text.WriteString(job.Meta.Name + mpiLauncherSuffix + slots)
	}
	for _, name := range mpiWorkers(job) {
		text.WriteString(name + slots)
	}
	return text.String()
}

// mpiScript returns kubexec.sh, which starts a command in the pod that its first argument names.
func mpiScript(own mpiJob) string {
	container := ""
	if own.main != "" {
		container = " --container " + own.main
	}
	return "#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n" + mpiKubectlPath + "/kubectl exec ${POD_NAME}" + container + ` -- /bin/sh -c "$*"`
}

// mpiRunning returns discover_hosts.sh, by which elastic Horovod finds the running hosts, sorted by name as text.
func mpiRunning(job *training.Job, own mpiJob, names []string) string {
	slots := ":" + strconv.Itoa(own.slots)
	text := "#!/bin/sh"
	if own.gpu {
		text += "\necho " + job.Meta.Name + mpiLauncherSuffix + slots + "\n"
	}
	slices.Sort(names)
	var list strings.Builder
	for _, name := range names {
		list.WriteString("\necho " + name + slots)
	}
	return text + list.String()
}

// mpiConfigSize returns an upper bound of the size of the ConfigMap. It does not build the content, because the number of
// workers is not checked yet.
func mpiConfigSize(job *training.Job, own mpiJob) int {
	replicas := 0
	if worker := job.ReplicaType(mpiWorker); worker != nil {
		replicas = worker.Replicas
	}
	digits := len(strconv.Itoa(own.slots))
	each := 2*(len(job.Meta.Name)+len("-worker-")+digits) + len(" slots=\n") + len("\necho :")
	return 1<<10 + replicas*each + 2*digitsBelow(replicas)
}
