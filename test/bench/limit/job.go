package limit

import (
	"encoding/json"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
	"stoic/test/bench/wire"
	"stoic/training"
	"stoic/training/kinds"
)

// job is what is known of one job.
type job struct {
	meta     wire.Meta
	replicas []replica
	byName   map[string]*replica
	cluster  string // the part of TF_CONFIG that all share
	dynamic  bool
	limit    int // of restarts

	restarts             int
	started              bool // Running is written, or being written
	over                 bool
	decides              string // the pod whose success is the job's
	startTime            string
	writing              sync.Mutex
	replicaTypeTemplates map[string]corev1.PodTemplateSpec
}

type replica struct {
	rtype, label, name string
	index              int
	policy             string
	phase              string
}

// spec is the part of a job's spec that is read.
type spec struct {
	RunPolicy struct {
		Suspend      bool
		BackoffLimit *int
	}
	EnableDynamicWorker bool
	TFReplicaSpecs      map[string]struct {
		Replicas      *int
		RestartPolicy string
		Template      corev1.PodTemplateSpec
	}
}

// read reads a job; it returns nil if that is malformed, or has nothing to run.
func read(seen *wire.Job) *job {
	var s spec
	if json.Unmarshal(seen.Spec, &s) != nil || s.RunPolicy.Suspend {
		return nil
	}
	j := &job{meta: seen.Metadata, byName: map[string]*replica{}, replicaTypeTemplates: map[string]corev1.PodTemplateSpec{},
		decides: training.ChildName(seen.Metadata.Name, "worker", 0), dynamic: s.EnableDynamicWorker, limit: 1 << 30}
	if s.RunPolicy.BackoffLimit != nil {
		j.limit = *s.RunPolicy.BackoffLimit
	}
	cluster := map[string][]string{}
	for _, kind := range kinds.TFJob().ReplicaTypes {
		rtype, found := s.TFReplicaSpecs[kind.Name]
		if !found {
			continue
		}
		count := 1
		if rtype.Replicas != nil {
			count = *rtype.Replicas
		}
		if rtype.RestartPolicy == "Never" || rtype.RestartPolicy == "ExitCode" || rtype.RestartPolicy == "" {
			rtype.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		}
		j.replicaTypeTemplates[kind.Name] = rtype.Template
		for i := range count {
			name := training.ChildName(j.meta.Name, kind.Label, i)
			j.replicas = append(j.replicas, replica{rtype: kind.Name, label: kind.Label, name: name, index: i, policy: rtype.RestartPolicy})
			cluster[kind.Label] = append(cluster[kind.Label], j.address(kind.Label, i))
		}
	}
	for i := range j.replicas {
		j.byName[j.replicas[i].name] = &j.replicas[i]
	}
	if j.dynamic {
		delete(cluster, "worker")
	}
	text, err := json.Marshal(cluster)
	if err != nil || len(j.replicas) == 0 {
		return nil
	}
	j.cluster = string(text)
	return j
}

func (j *job) address(label string, index int) string {
	return training.Host(j.meta.Name, j.meta.Namespace, label, index, "") + ":2222"
}

func (j *job) named(pod string) *replica { return j.byName[pod] }

// action is what follows from a change of a pod: a status to write, or another pod.
type action int

const (
	nothing action = iota
	running
	succeeded
	failed
	replace
)

// next returns the action after the pod of r has changed its phase.
func (j *job) next(r *replica, p *wire.Pod) action {
	switch {
	case r.phase == "Succeeded" && r.name == j.decides:
		j.over = true
		return succeeded
	case r.phase == "Failed" && j.restarts < j.limit && r.policy == "ExitCode" && exitCode(p) >= 128:
		j.restarts++
		return replace
	case r.phase == "Failed":
		j.over = true
		return failed
	case j.started:
		return nothing
	}
	for i := range j.replicas {
		if phase := j.replicas[i].phase; phase != "Running" && phase != "Succeeded" {
			return nothing
		}
	}
	j.started = true
	return running
}

func exitCode(p *wire.Pod) (code int) {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil {
			code = max(code, c.State.Terminated.ExitCode)
		}
	}
	return code
}

// status returns the patch that records an action.
func (j *job) status(next action) []byte {
	now := time.Now().UTC().Format(time.RFC3339)
	if j.startTime == "" {
		j.startTime = now
	}
	condition := func(t training.ConditionType, status string) map[string]any {
		return map[string]any{"type": t, "status": status, "reason": "TFJob" + string(t), "message": "TFJob " + j.meta.Name + " is " + string(t),
			"lastUpdateTime": now, "lastTransitionTime": now}
	}
	status := map[string]any{"startTime": j.startTime, "replicaStatuses": j.counts()}
	switch next {
	case running:
		status["conditions"] = []any{condition(training.Created, "True"), condition(training.Running, "True")}
	case succeeded:
		status["conditions"] = []any{condition(training.Created, "True"), condition(training.Running, "False"), condition(training.Succeeded, "True")}
		status["completionTime"] = now
	default:
		status["conditions"] = []any{condition(training.Created, "True"), condition(training.Running, "False"), condition(training.Failed, "True")}
		status["completionTime"] = now
	}
	return schema.JSON(map[string]any{"status": status})
}

func (j *job) counts() map[string]training.ReplicaStatus {
	counts := map[string]training.ReplicaStatus{}
	for i := range j.replicas {
		count := counts[j.replicas[i].rtype]
		switch j.replicas[i].phase {
		case "Running":
			count.Active++
		case "Succeeded":
			count.Succeeded++
		case "Failed":
			count.Failed++
		}
		counts[j.replicas[i].rtype] = count
	}
	return counts
}

func (j *job) objectMeta(r *replica) metav1.ObjectMeta {
	yes := true
	return metav1.ObjectMeta{Name: r.name, Namespace: j.meta.Namespace,
		Labels: map[string]string{training.LabelOperator: kinds.TFJob().Controller, training.LabelJob: j.meta.Name,
			training.LabelReplicaType: r.label, training.LabelReplicaIndex: strconv.Itoa(r.index)},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: kinds.TFJob().APIVersion(), Kind: kinds.TFJob().Name, Name: j.meta.Name,
			UID: types.UID(j.meta.UID), Controller: &yes, BlockOwnerDeletion: &yes}}}
}

// pod returns a replica's pod.
func (j *job) pod(r *replica) []byte {
	template := j.replicaTypeTemplates[r.rtype]
	pod := corev1.Pod{ObjectMeta: j.objectMeta(r), Spec: *template.Spec.DeepCopy()}
	pod.APIVersion, pod.Kind, pod.Annotations = "v1", "Pod", template.Annotations
	if r.name == j.decides {
		pod.Labels[training.LabelJobRole] = training.JobRoleMaster
	}
	cluster := j.cluster
	if j.dynamic {
		cluster = `{"worker":{"` + strconv.Itoa(r.index) + `":"` + j.address(r.label, r.index) + `"},"ps":null}`
	}
	config := `{"cluster":` + cluster + `,"task":{"type":"` + r.label + `","index":` + strconv.Itoa(r.index) + `},"environment":"cloud"}`
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Env = append(pod.Spec.Containers[i].Env, corev1.EnvVar{Name: "TF_CONFIG", Value: config})
	}
	return schema.JSON(pod)
}

// service returns a replica's service.
func (j *job) service(r *replica) []byte {
	meta := j.objectMeta(r)
	service := corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: meta.Labels,
		Ports: []corev1.ServicePort{{Name: kinds.TFJob().Port.Name, Port: kinds.TFJob().Port.Number}}}}
	service.APIVersion, service.Kind = "v1", "Service"
	return schema.JSON(service)
}
