package kinds

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stoic/training"
)

// pyEnvironment returns the variables that torchrun and torch.distributed read, in the order of training-operator.
//
//	                    with a master                             without
//	MASTER_ADDR, _PORT  the master                                -
//	RANK                0 for the master, 1.. for the workers     -
//	WORLD_SIZE          replicas times processes (auto counts 1)  -
//	PET_NNODES          replicas, or MIN:MAX of an elastic job    the same
func pyEnvironment(job *training.Job) func(*training.ReplicaType, int) []training.EnvVar {
	own, _ := job.Own.(pyTorchJob)
	shared := append(pyProcesses(own), pyNodes(job, own)...)
	first := job.ReplicaType(master)
	return func(rtype *training.ReplicaType, index int) []training.EnvVar {
		variables := []training.EnvVar{unbuffered()}
		if first != nil {
			rank := index
			if rtype.Name == worker {
				rank += first.Replicas
			}
			variables = append(variables, pyMeeting(job, own, first, strconv.Itoa(rank))...)
		}
		return append(variables, shared...)
	}
}

// pyVariables documents the variables of pyEnvironment.
func pyVariables() []training.Variable {
	variables := slices.Concat(
		[]training.Variable{unbufferedVariable()},
		rendezvousVariables("a job with a `Master`", "MASTER_PORT", "PET_MASTER_PORT", "MASTER_ADDR", "PET_MASTER_ADDR", "WORLD_SIZE", "RANK", "PET_NODE_RANK"),
		rendezvousVariables("", "PET_NNODES", "PET_NPROC_PER_NODE"),
		rendezvousVariables("a job with `elasticPolicy`", "PET_RDZV_ENDPOINT", "PET_RDZV_BACKEND"),
		rendezvousVariables("a job whose `elasticPolicy` sets it", "PET_MAX_RESTARTS", "PET_RDZV_ID", "PET_RDZV_CONF", "PET_STANDALONE"),
	)
	instead := map[string]string{
		"PET_NPROC_PER_NODE": "spec.nprocPerNode", "PET_NNODES": "spec.elasticPolicy.minReplicas", "PET_RDZV_ENDPOINT": "spec.elasticPolicy.rdzvHost",
		"PET_RDZV_BACKEND": "spec.elasticPolicy.rdzvBackend", "PET_MAX_RESTARTS": "spec.elasticPolicy.maxRestarts", "PET_RDZV_ID": "spec.elasticPolicy.rdzvId",
		"PET_RDZV_CONF": "spec.elasticPolicy.rdzvConf", "PET_STANDALONE": "spec.elasticPolicy.standalone",
	}
	for i := range variables {
		variables[i].Instead = instead[variables[i].Name]
		if variables[i].Name == "PET_NPROC_PER_NODE" {
			variables[i].UserWinsIf = "`nprocPerNode` is `auto`, its default"
		}
	}
	return variables
}

func pyMeeting(job *training.Job, own pyTorchJob, first *training.ReplicaType, rank string) []training.EnvVar {
	port := strconv.Itoa(int(first.Port))
	address := training.ChildName(job.Meta.Name, first.Label, 0)
	size := int64(job.Replicas())
	if n, err := strconv.ParseInt(own.processes, 10, 32); err == nil {
		size *= max(n, 1)
	}
	return []training.EnvVar{
		{Name: "MASTER_PORT", Value: port}, {Name: "PET_MASTER_PORT", Value: port}, {Name: "MASTER_ADDR", Value: address}, {Name: "PET_MASTER_ADDR", Value: address},
		{Name: "WORLD_SIZE", Value: strconv.FormatInt(size, 10)}, {Name: "RANK", Value: rank}, {Name: "PET_NODE_RANK", Value: rank},
	}
}

func pyProcesses(own pyTorchJob) []training.EnvVar {
	if own.processes == "" {
		return nil
	}
	return []training.EnvVar{{Name: "PET_NPROC_PER_NODE", Value: own.processes, UserWins: own.processes == pyAuto}}
}

// pyNodes returns the variables with the number of pods and, for an elastic job, the rendezvous.
func pyNodes(job *training.Job, own pyTorchJob) []training.EnvVar {
	elastic := own.elastic
	if elastic == nil {
		return []training.EnvVar{{Name: "PET_NNODES", Value: strconv.Itoa(job.Replicas())}}
	}
	variables := []training.EnvVar{
		{Name: "PET_RDZV_ENDPOINT", Value: deref(elastic.RDZVHost) + ":" + strconv.Itoa(int(deref(elastic.RDZVPort)))},
		{Name: "PET_RDZV_BACKEND", Value: deref(elastic.RDZVBackend)},
		{Name: "PET_NNODES", Value: fmt.Sprintf("%d:%d", deref(elastic.MinReplicas), deref(elastic.MaxReplicas))},
	}
	number := func(name string, value *int32) {
		if value != nil {
			variables = append(variables, training.EnvVar{Name: name, Value: strconv.Itoa(int(*value))})
		}
	}
	number("PET_MAX_RESTARTS", elastic.MaxRestarts)
	number("PET_NPROC_PER_NODE", elastic.NProcPerNode)
	if elastic.RDZVID != nil {
		variables = append(variables, training.EnvVar{Name: "PET_RDZV_ID", Value: *elastic.RDZVID})
	}
	if len(elastic.RDZVConf) > 0 {
		settings := make([]string, len(elastic.RDZVConf))
		for i, c := range elastic.RDZVConf {
			settings[i] = c.Key + "=" + c.Value
		}
		variables = append(variables, training.EnvVar{Name: "PET_RDZV_CONF", Value: strings.Join(settings, ",")})
	}
	if deref(elastic.Standalone) {
		variables = append(variables, training.EnvVar{Name: "PET_STANDALONE", Value: ""})
	}
	return variables
}

// pyInitContainers returns the init container by which a worker waits until the name of the master resolves.
func pyInitContainers(job *training.Job, rtype *training.ReplicaType) []json.RawMessage {
	first, wait := job.ReplicaType(master), job.Kind.Cluster.WaitFor
	if rtype.Name != worker || first == nil || wait == nil {
		return nil
	}
	return wait(training.ChildName(job.Meta.Name, first.Label, 0))
}

// pyField returns the path of the field, of unbounded length, that a variable is built from.
func pyField(variable string) string {
	switch variable {
	case "PET_NPROC_PER_NODE":
		return "spec.nprocPerNode"
	case "PET_RDZV_ENDPOINT":
		return "spec.elasticPolicy.rdzvHost"
	case "PET_RDZV_BACKEND":
		return "spec.elasticPolicy.rdzvBackend"
	case "PET_RDZV_ID":
		return "spec.elasticPolicy.rdzvId"
	}
	return "spec.elasticPolicy.rdzvConf"
}
