package workload

import (
	"cmp"
	"time"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// shape describes the jobs of a workload.
type shape struct {
	// kind of the jobs; nil is TFJob.
	kind *training.Kind
	// servers is the number of parameter servers of a TFJob, or of replicas of another kind's first replica type, unless that is Worker.
	servers, workers int
	// runs is how long each container runs before it exits with exit; 0 is forever.
	runs time.Duration
	exit string
	// retries is the back-off limit with restart policy ExitCode; 0 means the policy Never.
	retries int
	// sparse omits the other workers from TF_CONFIG, which would otherwise be too long for the environment of a process.
	sparse bool
}

func (s shape) pods() int { return s.servers + s.workers }

func (s shape) kindOf() *training.Kind {
	if s.kind == nil {
		return kinds.TFJob()
	}
	return s.kind
}

func (s shape) body(name string) []byte {
	kind := s.kindOf()
	ends := map[string]string{}
	if s.runs > 0 {
		ends["simulation.stoic/run-for"] = s.runs.String()
		ends["simulation.stoic/exit-code"] = s.exit
	}
	policy := "Never"
	run := map[string]any{"cleanPodPolicy": "None"}
	if s.retries > 0 {
		policy = "ExitCode"
		run["backoffLimit"] = s.retries
	}
	rtype := func(count int, annotations map[string]string) map[string]any {
		return map[string]any{"replicas": count, "restartPolicy": policy, "template": map[string]any{
			"metadata": map[string]any{"annotations": annotations},
			"spec": map[string]any{"containers": []any{map[string]any{"name": cmp.Or(kind.Container, "main"), "image": "training:1",
				"command":   []string{"python", "/opt/train.py", "--epochs=10"},
				"resources": map[string]any{"requests": map[string]string{"cpu": "10m", "memory": "16Mi"}}}}},
		}}
	}
	worker := ends
	if kind.Name == kinds.MPIJob().Name { // workers wait for the launcher to start processes in them, and end with the job
		worker = map[string]string{}
	}
	rtypes := map[string]any{"Worker": rtype(s.workers, worker)}
	if s.servers > 0 {
		rtypes[serversOf(kind)] = rtype(s.servers, ends)
	}
	spec := map[string]any{"runPolicy": run, kind.ReplicaSpecsField: rtypes}
	if s.sparse {
		spec["enableDynamicWorker"] = true
	}
	return job(kind, name, spec)
}

// serversOf returns the replica type whose replicas a shape calls servers.
func serversOf(kind *training.Kind) string {
	if kind.Name == kinds.TFJob().Name {
		return "PS"
	}
	return kind.ReplicaTypes[0].Name
}

// ofEachKind returns the standard job as one of each kind, with as many pods each: a master or a launcher instead of the
// parameter server, and one more worker for a kind with neither.
func ofEachKind(standard shape) (shapes []shape) {
	for _, kind := range kinds.All() {
		s := standard
		if s.kind = kind; len(kind.ReplicaTypes) == 1 {
			s.servers, s.workers = 0, s.pods()
		}
		shapes = append(shapes, s)
	}
	return shapes
}

// malformed returns a job that no operator can run: an argument is a number, a common mistake.
func malformed(name string) []byte {
	container := map[string]any{"name": "tensorflow", "image": "training:1", "args": []any{"--steps", 1000}}
	return job(kinds.TFJob(), name, map[string]any{"tfReplicaSpecs": map[string]any{"Worker": map[string]any{
		"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}}}})
}

func job(kind *training.Kind, name string, spec map[string]any) []byte {
	return schema.JSON(map[string]any{"apiVersion": kind.APIVersion(), "kind": kind.Name,
		"metadata": map[string]any{"name": name}, "spec": spec})
}
