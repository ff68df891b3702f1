package integration

import (
	"fmt"
	"strings"
)

// malformed are specs that an API server with an open schema stores. path is where the first problem of each is.
type malformed struct {
	name string
	path string
	// pruned is the path under a CRD whose schema removes nulls before any client sees them, if it differs.
	pruned string
	// mute: a rule of the CRD fails on the stored value, so that the API server accepts no status for the object
	// (docs/decisions/0002). Only events report it.
	mute bool
	// spec is YAML below "spec:"; empty for an object without a spec
	spec string
}

// worker returns a spec with one worker whose container and replica type have the given lines added.
func worker(container, rtype string) string {
	return `
  tfReplicaSpecs:
    Worker:
      template:
        metadata:
          annotations: {simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}
        spec:
          containers:
            - name: tensorflow
              image: training:1` + indent(14, container) + indent(6, rtype) + "\n"
}

func indent(n int, text string) string {
	if text == "" {
		return ""
	}
	return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", n))
}

const (
	inWorker    = "spec.tfReplicaSpecs.Worker"
	inContainer = inWorker + ".template.spec.containers[0]"
)

// nonsense returns more than twenty malformed specs.
func nonsense() []malformed {
	return []malformed{
		{"integer-in-args", inContainer + ".args[1]", "", false, worker("args: [--steps, 1000]", "")},
		{"odd-quantity", inContainer + ".resources.limits.cpu", "", false, worker(`resources: {limits: {cpu: "1e1.5"}}`, "")},
		{"gigabytes", inContainer + ".resources.limits.memory", "", false, worker(`resources: {limits: {memory: 64Gb}}`, "")},
		{"env-number", inContainer + ".env[0].value", "", false, worker(`env: [{name: A, value: 3}]`, "")},
		{"port-too-high", inContainer + ".ports[0].containerPort", "", false, worker(`ports: [{containerPort: 99999}]`, "")},
		{"command-string", inContainer + ".command", "", false, worker(`command: python`, "")},
		{"replicas-string", inWorker + ".replicas", "", false, worker("", `replicas: "4"`)},
		{"replicas-huge", inWorker + ".replicas", "", false, worker("", `replicas: 99999999999`)},
		{"replicas-negative", inWorker + ".replicas", "", false, worker("", `replicas: -3`)},
		{"replicas-fraction", inWorker + ".replicas", "", false, worker("", `replicas: 1.5`)},
		{"replicas-zero", "spec.tfReplicaSpecs", "", false, worker("", `replicas: 0`)},
		{"restart-perhaps", inWorker + ".restartPolicy", "", false, worker("", `restartPolicy: Perhaps`)},
		{"clean-sometimes", "spec.runPolicy.cleanPodPolicy", "", false, "\n  runPolicy: {cleanPodPolicy: Sometimes}" + worker("", "")},
		{"backoff-negative", "spec.runPolicy.backoffLimit", "", false, "\n  runPolicy: {backoffLimit: -1}" + worker("", "")},
		{"run-policy-list", "spec.runPolicy", "", false, "\n  runPolicy: [1, 2]" + worker("", "")},
		{"unknown-replica-type", "spec.tfReplicaSpecs.Workr", "", false, strings.Replace(worker("", ""), "Worker:", "Workr:", 1)},
		{"wrong-container", inWorker + ".template.spec.containers", "", false, strings.Replace(worker("", ""), "tensorflow", "tensorlow", 1)},
		{"no-containers", inWorker + ".template.spec.containers", "", false, "\n  tfReplicaSpecs: {Worker: {template: {spec: {containers: []}}}}\n"},
		{"no-template", inWorker + ".template", "", false, "\n  tfReplicaSpecs: {Worker: {replicas: 1}}\n"},
		{"pod-spec-number", inWorker + ".template.spec", "", false, "\n  tfReplicaSpecs: {Worker: {template: {spec: 7}}}\n"},
		{"null-worker", inWorker, "spec.tfReplicaSpecs", false, "\n  tfReplicaSpecs: {Worker: null}\n"},
		{"replica-types-list", "spec.tfReplicaSpecs", "", false, "\n  tfReplicaSpecs: [Worker]\n"},
		{"queue-list", "spec.runPolicy.schedulingPolicy.queue", "", true, "\n  runPolicy: {schedulingPolicy: {queue: [a]}}" + worker("", "")},
		{"no-replica-types", "spec.tfReplicaSpecs", "", false, "\n  tfReplicaSpecs: {}\n"},
		{"spec-string", "spec", "", false, " nonsense\n"},
		{"no-spec", "spec", "", false, ""},
		{"a-name-that-leaves-no-room-for-the-name-of-a-worker-beneath", "metadata.name", "", false, worker("", "")},
	}
}

// ends returns annotations of a pod that succeeds after that time.
func ends(after string) string {
	return `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: ` + after + `}`
}

// manifest returns a job with that spec.
func manifest(name, spec string) string {
	if spec != "" {
		spec = "spec:" + spec
	}
	return fmt.Sprintf("apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata:\n  name: %s\n%s", name, spec)
}
