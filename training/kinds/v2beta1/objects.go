package v2beta1

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"stoic/schema"
	"stoic/training"
)

// Keys of the ConfigMap and of the Secret.
const (
	keyHostfile, keyDiscover = "hostfile", "discover_hosts.sh"
	keyPrivate, keyPublic    = "ssh-privatekey", "ssh-publickey"
)

// dependents returns the ConfigMap, which is updated with the workers that run, and the Service and the Secret, which are
// created together with pods and never read again, so that the operator needs no permission to list Secrets.
func dependents(job *training.Job, running training.RunningReplicas) []training.Dependent {
	app := map[string]string{labelApp: job.Meta.Name}
	return []training.Dependent{
		{Resource: schema.Services(), Labels: app, Spec: serviceSpec(job)},
		{Resource: schema.Secrets(), Name: job.Meta.Name + behindSSH, Labels: app, Generate: training.GenerateSSHKey,
			Content: map[string]json.RawMessage{"type": schema.JSON("kubernetes.io/ssh-auth")}},
		{Resource: schema.ConfigMaps(), Name: job.Meta.Name + behindConfig, Labels: app, Follows: []schema.Resource{schema.Pods()}, Content: map[string]json.RawMessage{
			"data": schema.JSON(map[string]string{keyHostfile: hosts(job), keyDiscover: discovery(job, running)})}},
	}
}

// serviceSpec returns the spec of the Service that all pods of the job share.
func serviceSpec(job *training.Job) map[string]json.RawMessage {
	spec := map[string]json.RawMessage{
		"clusterIP":                schema.JSON("None"),
		"selector":                 schema.JSON(map[string]string{training.LabelOperator: job.Kind.Controller, training.LabelJob: job.Meta.Name}),
		"publishNotReadyAddresses": schema.JSON(true), // hosts look each other up before they are ready
	}
	var declared []training.Port
	for i := range job.ReplicaTypes {
		declared = append(declared, job.ReplicaTypes[i].Ports...)
	}
	if ports := training.ServicePorts(declared); len(ports) > 0 {
		spec["ports"] = training.WriteServicePorts(ports)
	}
	return spec
}

// host returns the full name of a replica. The headless Service of the job gives its pods names.
func host(job *training.Job, rtype *training.ReplicaType, index int) string {
	name := rtype.Child(job.Meta.Name, index) + "." + job.Meta.Name + "." + job.Meta.Namespace + ".svc"
	if cluster := job.Kind.Cluster.Domain; cluster != "" {
		name += "." + cluster
	}
	return name
}

// slotsBehind returns the text between a host and its slots in the hostfile.
func slotsBehind(own mpiJob) string {
	if own.implementation == openMPI {
		return " slots="
	}
	return ":"
}

// hosts returns the hostfile: all workers, whether they run or not.
func hosts(job *training.Job) string {
	own := ownOf(job)
	var b strings.Builder
	write := func(rtype *training.ReplicaType, index int) {
		b.WriteString(host(job, rtype, index) + slotsBehind(own) + strconv.Itoa(int(own.slots)) + "\n")
	}
	if own.launcherWorks {
		write(job.ReplicaType(launcher), 0)
	}
	if workers := job.ReplicaType(worker); workers != nil {
		for i := range workers.Replicas {
			write(workers, i)
		}
	}
	return b.String()
}

// tooLarge returns training.ConfigMapTooLarge if it applies.
func tooLarge(job *training.Job, own mpiJob) []schema.Problem {
	size := configSize(job, own)
	if size <= training.ConfigMapLimit {
		return nil
	}
	return []schema.Problem{training.ConfigMapTooLarge("spec.mpiReplicaSpecs.Worker.replicas", job.ReplicaType(worker).Replicas, size)}
}

// configSize returns an upper bound of the size of the ConfigMap while all workers run, without building it.
func configSize(job *training.Job, own mpiJob) int {
	const rest = 1 << 10 // the head of the script, and the launcher where it is a host
	workers := job.ReplicaType(worker)
	if workers == nil {
		return rest
	}
	name := len(host(job, workers, workers.Replicas-1))
	line, echo := name+len(slotsBehind(own)+"\n")+len(strconv.Itoa(int(own.slots))), name+len("echo \n")
	return rest + workers.Replicas*(line+echo)
}

// discovery returns the script by which elastic programs find the workers that run.
func discovery(job *training.Job, running training.RunningReplicas) string {
	var lines []string
	if workers := job.ReplicaType(worker); workers != nil {
		for _, index := range running[worker].Running {
			lines = append(lines, "echo "+host(job, workers, index)+"\n")
		}
	}
	slices.Sort(lines)
	first := ""
	if ownOf(job).launcherWorks {
		first = "echo " + host(job, job.ReplicaType(launcher), 0) + "\n"
	}
	return "#!/bin/sh\n" + first + strings.Join(lines, "")
}
