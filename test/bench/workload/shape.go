package workload

import (
	"time"

	"stoic/schema"
	"stoic/training/kinds"
)

// shape of the jobs of a workload.
type shape struct {
	servers, workers int
	// runs is how long each container runs before it ends with exit; 0 for ever.
	runs time.Duration
	exit string
	// retries with restart policy ExitCode; 0 for the policy Never.
	retries int
	// sparse leaves the other workers out of TF_CONFIG, which else is longer than a process may be given.
	sparse bool
}

func (s shape) pods() int { return s.servers + s.workers }

func (s shape) body(name string) []byte {
	annotations := map[string]string{}
	if s.runs > 0 {
		annotations["simulation.stoic/run-for"] = s.runs.String()
		annotations["simulation.stoic/exit-code"] = s.exit
	}
	policy := "Never"
	run := map[string]any{"cleanPodPolicy": "None"}
	if s.retries > 0 {
		policy = "ExitCode"
		run["backoffLimit"] = s.retries
	}
	rtype := func(count int) map[string]any {
		return map[string]any{"replicas": count, "restartPolicy": policy, "template": map[string]any{
			"metadata": map[string]any{"annotations": annotations},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "tensorflow", "image": "training:1",
				"command":   []string{"python", "/opt/train.py", "--epochs=10"},
				"resources": map[string]any{"requests": map[string]string{"cpu": "10m", "memory": "16Mi"}}}}},
		}}
	}
	rtypes := map[string]any{"Worker": rtype(s.workers)}
	if s.servers > 0 {
		rtypes["PS"] = rtype(s.servers)
	}
	spec := map[string]any{"runPolicy": run, "tfReplicaSpecs": rtypes}
	if s.sparse {
		spec["enableDynamicWorker"] = true
	}
	return job(name, spec)
}

// malformed is a job that no operator can run: an argument that is a number, as thousands have written it.
func malformed(name string) []byte {
	container := map[string]any{"name": "tensorflow", "image": "training:1", "args": []any{"--steps", 1000}}
	return job(name, map[string]any{"tfReplicaSpecs": map[string]any{"Worker": map[string]any{
		"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}}}})
}

func job(name string, spec map[string]any) []byte {
	return schema.JSON(map[string]any{"apiVersion": kinds.TFJob().APIVersion(), "kind": kinds.TFJob().Name,
		"metadata": map[string]any{"name": name}, "spec": spec})
}
