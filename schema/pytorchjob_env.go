package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// pyEnvironment sets what torchrun and torch.distributed read. The order is that of training-operator, and of two
// variables of one name the later one counts, so what is set here wins over the template.
//
//	                    with a master                             without
//	MASTER_ADDR, _PORT  the master                                -
//	RANK                0 for the master, 1.. for the workers     -
//	WORLD_SIZE          replicas times processes (auto counts 1)  -
//	PET_NNODES          replicas, or MIN:MAX of an elastic job    the same
func pyEnvironment(job *Job) func(*Role, int) []EnvVar {
	own, _ := job.Own.(pyTorchJob)
	shared := append(pyProcesses(own), pyNodes(job, own)...)
	master := job.Role(pyMaster)
	return func(role *Role, index int) []EnvVar {
		variables := []EnvVar{{"PYTHONUNBUFFERED", "1"}}
		if master != nil {
			rank := index
			if role.Name == pyWorker {
				rank += master.Replicas
			}
			variables = append(variables, pyMeeting(job, own, master, strconv.Itoa(rank))...)
		}
		return append(variables, shared...)
	}
}

func pyMeeting(job *Job, own pyTorchJob, master *Role, rank string) []EnvVar {
	port := strconv.Itoa(int(master.Port))
	address := ChildName(job.Meta.Name, master.Label, 0)
	size := int64(job.Replicas())
	if n, err := strconv.ParseInt(own.processes, 10, 32); err == nil {
		size *= max(n, 1)
	}
	return []EnvVar{
		{"MASTER_PORT", port}, {"PET_MASTER_PORT", port}, {"MASTER_ADDR", address}, {"PET_MASTER_ADDR", address},
		{"WORLD_SIZE", strconv.FormatInt(size, 10)}, {"RANK", rank}, {"PET_NODE_RANK", rank},
	}
}

func pyProcesses(own pyTorchJob) []EnvVar {
	if own.processes == "" {
		return nil
	}
	return []EnvVar{{"PET_NPROC_PER_NODE", own.processes}}
}

// pyNodes says how many pods there are, and where those of an elastic job meet.
func pyNodes(job *Job, own pyTorchJob) []EnvVar {
	elastic := own.elastic
	if elastic == nil {
		return []EnvVar{{"PET_NNODES", strconv.Itoa(job.Replicas())}}
	}
	variables := []EnvVar{
		{"PET_RDZV_ENDPOINT", deref(elastic.RDZVHost) + ":" + strconv.Itoa(int(deref(elastic.RDZVPort)))},
		{"PET_RDZV_BACKEND", deref(elastic.RDZVBackend)},
		{"PET_NNODES", fmt.Sprintf("%d:%d", deref(elastic.MinReplicas), deref(elastic.MaxReplicas))},
	}
	number := func(name string, value *int32) {
		if value != nil {
			variables = append(variables, EnvVar{name, strconv.Itoa(int(*value))})
		}
	}
	number("PET_MAX_RESTARTS", elastic.MaxRestarts)
	number("PET_NPROC_PER_NODE", elastic.NProcPerNode)
	if elastic.RDZVID != nil {
		variables = append(variables, EnvVar{"PET_RDZV_ID", *elastic.RDZVID})
	}
	if len(elastic.RDZVConf) > 0 {
		settings := make([]string, len(elastic.RDZVConf))
		for i, c := range elastic.RDZVConf {
			settings[i] = c.Key + "=" + c.Value
		}
		variables = append(variables, EnvVar{"PET_RDZV_CONF", strings.Join(settings, ",")})
	}
	if deref(elastic.Standalone) {
		variables = append(variables, EnvVar{"PET_STANDALONE", ""})
	}
	return variables
}

// pyInitContainers lets a worker wait for the name of the master.
func pyInitContainers(job *Job, role *Role) []json.RawMessage {
	master, wait := job.Role(pyMaster), job.Kind.Cluster.WaitFor
	if role.Name != pyWorker || master == nil || wait == nil {
		return nil
	}
	return wait(ChildName(job.Meta.Name, master.Label, 0))
}

const (
	// pyVariableLimit is the longest that a variable may be: NAME=value and the byte behind it. See tfConfigLimit.
	pyVariableLimit = tfConfigLimit
	// pyPodLimit is the most that may be added to a pod. No API server stores more than 1.5 MiB of one object.
	pyPodLimit = 1 << 20
)

// pySizes: what the author writes once is repeated in every container of every pod.
func pySizes(job *Job) (problems []Problem) {
	const around = len(`{"name":"","value":""},`)
	environment := pyEnvironment(job)
	for i := range job.Roles {
		role := &job.Roles[i]
		size := 0
		for _, v := range environment(role, 0) {
			length := len(v.Name) + len("=") + len(v.Value)
			if length > pyVariableLimit && i == 0 {
				problems = append(problems, Problem{Code: TooLarge, Path: pyField(v.Name), Found: fmt.Sprintf("%d bytes", len(v.Value)),
					Want: fmt.Sprintf("stay within %d bytes, the longest environment variable that Linux passes to a process", pyVariableLimit)})
			}
			size += length + around
		}
		if i == 0 && len(problems) > 0 {
			return problems
		}
		if size*(1+len(role.Template)/leastContainer) <= pyPodLimit {
			continue // also if the template were nothing but containers
		}
		if n := containersIn(role.Template); n > 1 && size*n > pyPodLimit {
			problems = append(problems, Problem{Code: TooLarge, Path: "spec.pytorchReplicaSpecs." + role.Name + ".template.spec.containers",
				Found: fmt.Sprintf("%d containers, which get %d bytes of environment each", n, size),
				Want:  fmt.Sprintf("get at most %d bytes in all", pyPodLimit), Hint: "use fewer containers"})
		}
	}
	return problems
}

// pyField is the field that is the author's to any length and ends in a variable.
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

// leastContainer is how few bytes a container can be in a template.
const leastContainer = len(`{"image":"a","name":"a"},`)

func containersIn(template []byte) int {
	var pod struct {
		Spec struct{ Containers []struct{} }
	}
	_ = json.Unmarshal(template, &pod) // the converter made it; what is no template has no containers
	return len(pod.Spec.Containers)
}
