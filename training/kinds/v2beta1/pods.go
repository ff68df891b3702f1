package v2beta1

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"stoic/schema"
	"stoic/training"
)

// podLabels returns the labels that identify the replica of a pod. If the launcher is the first host, the index of each
// worker is one higher.
func podLabels(job *training.Job, rtype *training.ReplicaType, index int) map[string]string {
	works := ownOf(job).launcherWorks
	labels := map[string]string{training.LabelOperator: job.Kind.Controller, training.LabelJob: job.Meta.Name, training.LabelJobRole: rtype.Label}
	switch {
	case rtype.Name == worker && works:
		labels[training.LabelReplicaIndex] = strconv.Itoa(index + 1)
	case rtype.Name == worker:
		labels[training.LabelReplicaIndex] = strconv.Itoa(index)
	case works:
		labels[training.LabelReplicaIndex] = "0"
	}
	return labels
}

// environment returns the variables of a replica.
//
// Open MPI 5 starts processes with a separate program, PRRTE, which ignores OMPI_MCA_orte_*. Without the variables
// PRTE_MCA_*, mpirun only knows the host of the launcher, runs everything there and succeeds. Earlier versions ignore
// PRTE_MCA_*. mpi-operator does not set PRTE_MCA_*, so values of the user win. They also win over the arguments of ssh, of
// which the port is the most frequent, and over NVIDIA_*. All other variables replace the user's, as in mpi-operator.
//
// NVIDIA_* are empty, so that the launcher does not see the GPUs of its node, unless it computes or has a limit of GPUs.
func environment(job *training.Job) func(*training.ReplicaType, int) []training.EnvVar {
	own := ownOf(job)
	slots := strconv.Itoa(int(own.slots))
	more := []training.EnvVar{{Name: replicaTypeVariable, Value: "launcher"}}
	switch own.implementation {
	case intel:
		more = append(more, training.EnvVar{Name: "I_MPI_HYDRA_HOST_FILE", Value: hostfile},
			training.EnvVar{Name: "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", Value: sshArguments, UserWins: true}, training.EnvVar{Name: "I_MPI_PERHOST", Value: slots})
	case mpich:
		more = append(more, training.EnvVar{Name: "HYDRA_HOST_FILE", Value: hostfile},
			training.EnvVar{Name: "HYDRA_LAUNCH_EXTRA_ARGS", Value: sshArguments, UserWins: true})
	default:
		more = append(more, training.EnvVar{Name: "OMPI_MCA_orte_keep_fqdn_hostnames", Value: "true"},
			training.EnvVar{Name: "OMPI_MCA_orte_default_hostfile", Value: hostfile},
			training.EnvVar{Name: "OMPI_MCA_plm_rsh_args", Value: sshArguments, UserWins: true},
			training.EnvVar{Name: "OMPI_MCA_orte_set_default_slots", Value: slots},
			training.EnvVar{Name: "PRTE_MCA_prte_keep_fqdn_hostnames", Value: "true", UserWins: true},
			training.EnvVar{Name: "PRTE_MCA_prte_default_hostfile", Value: hostfile, UserWins: true},
			training.EnvVar{Name: "PRTE_MCA_plm_ssh_args", Value: sshArguments, UserWins: true},
			training.EnvVar{Name: "PRTE_MCA_prte_set_default_slots", Value: slots, UserWins: true})
	}
	if !own.launcherWorks && !wantsGPU(job) {
		more = append(more, training.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", UserWins: true}, training.EnvVar{Name: "NVIDIA_DRIVER_CAPABILITIES", UserWins: true})
	}
	works := []training.EnvVar{{Name: replicaTypeVariable, Value: "worker"}}
	return func(rtype *training.ReplicaType, _ int) []training.EnvVar {
		if rtype.Name == launcher {
			return more
		}
		return works
	}
}

// documentedVariables returns what is documented of the variables of environment.
func documentedVariables() []training.Variable {
	document := func(when string, userWins bool, names ...string) (all []training.Variable) {
		for _, name := range names {
			all = append(all, training.Variable{Name: name, When: when, UserWins: userWins})
		}
		return all
	}
	const ofOpenMPI, ofIntel, ofMPICH = "the launcher, Open MPI", "the launcher, Intel MPI", "the launcher, MPICH"
	variables := slices.Concat(
		document("", false, replicaTypeVariable),
		document(ofOpenMPI, false, "OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_orte_default_hostfile", "OMPI_MCA_orte_set_default_slots"),
		document(ofOpenMPI, true, "OMPI_MCA_plm_rsh_args", "PRTE_MCA_prte_keep_fqdn_hostnames", "PRTE_MCA_prte_default_hostfile", "PRTE_MCA_plm_ssh_args", "PRTE_MCA_prte_set_default_slots"),
		document(ofIntel, false, "I_MPI_HYDRA_HOST_FILE", "I_MPI_PERHOST"),
		document(ofIntel, true, "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"),
		document(ofMPICH, false, "HYDRA_HOST_FILE"),
		document(ofMPICH, true, "HYDRA_LAUNCH_EXTRA_ARGS"),
		document("a launcher that does not compute and has no limit of GPUs", true, "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"),
	)
	for i := range variables {
		if name := variables[i].Name; name == "OMPI_MCA_orte_set_default_slots" || name == "I_MPI_PERHOST" {
			variables[i].Instead = "spec.slotsPerWorker"
		}
	}
	return variables
}

// wantsGPU reports whether a container of the launcher has a limit of a resource with "gpu" in its name.
func wantsGPU(job *training.Job) bool {
	for _, c := range launcherOf(job).Spec.Containers {
		for name := range c.Resources.Limits {
			if strings.Contains(name, "gpu") {
				return true
			}
		}
	}
	return false
}

// launcherOf returns the pod template of the launcher.
func launcherOf(job *training.Job) (found pod) {
	if rtype := job.ReplicaType(launcher); rtype != nil {
		_ = json.Unmarshal(rtype.Template, &found) // what cannot be read is not there
	}
	return found
}

// pod holds the parts of a pod template that additions depend on.
type pod struct {
	Spec struct {
		HostNetwork     bool                       `json:"hostNetwork"`
		DNSConfig       map[string]json.RawMessage `json:"dnsConfig"`
		SecurityContext user                       `json:"securityContext"`
		Containers      []struct {
			Command   []json.RawMessage `json:"command"`
			Args      []json.RawMessage `json:"args"`
			Resources struct {
				Limits map[string]json.RawMessage `json:"limits"`
			} `json:"resources"`
			SecurityContext user `json:"securityContext"`
		} `json:"containers"`
	} `json:"spec"`
}

type user struct {
	RunAsUser *int64 `json:"runAsUser"`
}

// additions returns the SSH key, the hostfile for the launcher, sshd for workers without a command or arguments, and the
// fields that give pods DNS names.
func additions(job *training.Job, rtype *training.ReplicaType) training.PodAdditions {
	own, found := ownOf(job), pod{}
	_ = json.Unmarshal(rtype.Template, &found) // what cannot be read is not there
	added := training.PodAdditions{
		Volumes: []json.RawMessage{sshVolume(job, own, &found)},
		Mounts:  []json.RawMessage{mount(volumeSSH, own.sshPath)},
		Spec:    map[string]json.RawMessage{"subdomain": schema.JSON(job.Meta.Name)},

		Hostname: rtype.Hostname,
	}
	if found.Spec.HostNetwork {
		added.Spec["dnsPolicy"] = schema.JSON("ClusterFirstWithHostNet")
	}
	if rtype.Name == launcher {
		added.Volumes = append(added.Volumes, configVolume(job))
		added.Mounts = append(added.Mounts, mount(volumeConfig, configPath))
		return added
	}
	added.Spec["dnsConfig"] = searching(found.Spec.DNSConfig, domain(job))
	if c := found.Spec.Containers; len(c) > 0 && len(c[0].Command)+len(c[0].Args) == 0 {
		added.Container = map[string]json.RawMessage{"command": schema.JSON([]string{"/usr/sbin/sshd", "-De"})}
	}
	return added
}

// domain returns the DNS domain of the names of the job's pods.
func domain(job *training.Job) string {
	return job.Meta.Name + "." + job.Meta.Namespace + ".svc." + cmp.Or(job.Kind.Cluster.Domain, "cluster.local")
}

// The API server's limits for search domains of a pod: their number, and their total length including separators.
const maxSearches, maxSearchCharacters = 32, 2048

// searching returns the template's DNS configuration with one more search domain if the limits permit it. It is optional:
// the names in the hostfile do not need it.
func searching(config map[string]json.RawMessage, domain string) json.RawMessage {
	all := maps.Clone(config)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	var searches []json.RawMessage
	_ = json.Unmarshal(all["searches"], &searches) // no list: the same as none
	characters := len(domain)
	for _, s := range searches {
		characters += len(s) - len(`""`) + len(" ")
	}
	if len(searches) >= maxSearches || characters > maxSearchCharacters {
		return schema.JSON(all)
	}
	all["searches"] = schema.JSON(append(searches, schema.JSON(domain)))
	return schema.JSON(all)
}

type (
	keyPath struct {
		Key  string `json:"key"`
		Path string `json:"path"`
		Mode *int32 `json:"mode,omitempty"`
	}
	secretVolume struct {
		Name   string `json:"name"`
		Secret struct {
			SecretName  string    `json:"secretName"`
			DefaultMode *int32    `json:"defaultMode,omitempty"`
			Items       []keyPath `json:"items"`
		} `json:"secret"`
	}
	configMapVolume struct {
		Name      string `json:"name"`
		ConfigMap struct {
			Name  string    `json:"name"`
			Items []keyPath `json:"items"`
		} `json:"configMap"`
	}
)

// sshVolume returns the volume with the key pair. Its files belong to root, so their mode lets another user that runs ssh
// read them.
func sshVolume(job *training.Job, own mpiJob, found *pod) json.RawMessage {
	v := secretVolume{Name: volumeSSH}
	v.Secret.SecretName = job.Meta.Name + behindSSH
	v.Secret.Items = []keyPath{{Key: keyPrivate, Path: "id_rsa"}, {Key: keyPublic, Path: "id_rsa.pub"}, {Key: keyPublic, Path: "authorized_keys"}}
	if own.sshPath == rootSSH && !found.isOtherUser() {
		mode := int32(0o600)
		v.Secret.DefaultMode = &mode
	}
	return schema.JSON(v)
}

// isOtherUser reports whether runAsUser of the first container is not root.
func (p *pod) isOtherUser() bool {
	id := p.Spec.SecurityContext.RunAsUser
	if c := p.Spec.Containers; len(c) > 0 && c[0].SecurityContext.RunAsUser != nil {
		id = c[0].SecurityContext.RunAsUser
	}
	return id != nil && *id != 0
}

func configVolume(job *training.Job) json.RawMessage {
	v, read, run := configMapVolume{Name: volumeConfig}, int32(0o444), int32(0o555)
	v.ConfigMap.Name = job.Meta.Name + behindConfig
	v.ConfigMap.Items = []keyPath{{keyHostfile, keyHostfile, &read}, {keyDiscover, keyDiscover, &run}}
	return schema.JSON(v)
}

func mount(volume, path string) json.RawMessage {
	return schema.JSON(struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
	}{volume, path})
}
