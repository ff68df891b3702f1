package scenario

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/test/faults/oracle"
)

// TFJobs returns the resource of TFJobs.
func TFJobs() schema.GroupVersionResource { return jobsOf("v1", "tfjobs") }

func jobsOf(version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kubeflow.org", Version: version, Resource: plural}
}

// training returns the operator of training jobs.
func training() *Operator {
	return &Operator{
		Name: "training", Package: ".",
		Args: []string{"controller", "--kubeconfig", "{kubeconfig}", "--namespace", "{namespace}", "--metrics-bind-address", "0", "--health-probe-bind-address", "0"},
		User: "system:serviceaccount:kubeflow:training-operator", Permissions: []string{"deploy/namespace.yaml", "deploy/rbac"},
		CRDs:       []string{"deploy/crd"},
		Resource:   TFJobs(),
		Dependents: []schema.GroupVersionResource{core("pods"), core("services"), core("configmaps"), core("serviceaccounts"), rbac("roles"), rbac("rolebindings")},
		Rules:      oracle.Jobs(),
		Scenarios:  slices.Concat(endings(), edits(), deletions(), mpiScenarios()),
	}
}

// replicaType is one replica type of a TFJob, with fields beside replicas, and in the container.
type replicaType struct {
	name              string
	replicas          int
	fields, container string
}

// tfJob returns the manifest of a TFJob.
func tfJob(policy string, rtypes ...replicaType) func(string) string {
	return func(job string) string {
		var text strings.Builder
		fmt.Fprintf(&text, "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: %s}\nspec:\n  runPolicy: {%s}\n  tfReplicaSpecs:\n", job, policy)
		for _, r := range rtypes {
			fmt.Fprintf(&text, "    %s:\n      replicas: %d\n", r.name, r.replicas)
			if r.fields != "" {
				fmt.Fprintf(&text, "      %s\n", r.fields)
			}
			text.WriteString("      template:\n        spec:\n          containers:\n          - name: tensorflow\n            image: training:1\n")
			if r.container != "" {
				fmt.Fprintf(&text, "            %s\n", r.container)
			}
		}
		return text.String()
	}
}

func workers(n int, fields string) replicaType {
	return replicaType{name: "Worker", replicas: n, fields: fields}
}

// endings returns the ways in which a job ends by itself.
func endings() []Scenario {
	const running, clean = "cleanPodPolicy: Running", "cleanPodPolicy: All"
	return []Scenario{
		{Name: "succeed", Manifest: tfJob(running, replicaType{name: "Chief", replicas: 1}, workers(1, ""), replicaType{name: "PS", replicas: 1}),
			Steps: []Step{end("chief-0", 1, 0, runs("worker-0", "ps-0"))},
			End:   all(state("Succeeded"), pods("chief-0 Succeeded"))},
		{Name: "fail", Manifest: tfJob(clean, workers(2, "restartPolicy: Never")),
			Steps: []Step{end("worker-1", 1, 1, runs("worker-0"))},
			End:   all(state("Failed"), pods())},
		{Name: "exit-code-retry", Manifest: tfJob("", workers(2, "restartPolicy: ExitCode")),
			Steps: []Step{end("worker-0", 1, 137, runs("worker-1")), end("worker-0", 2, 0, runs("worker-1"))},
			End:   all(state("Succeeded"), pods("worker-0 Succeeded", "worker-1 Running"))},
		{Name: "backoff-limit", Manifest: tfJob(running+", backoffLimit: 1", workers(1, "restartPolicy: ExitCode")),
			Steps: []Step{end("worker-0", 1, 137, always), end("worker-0", 2, 137, always)},
			End:   all(state("Failed"), pods("worker-0 Failed"))},
		// The limit is set once the pods run: counted from the beginning, it could be reached while the operator is down.
		{Name: "deadline", Manifest: tfJob(running, workers(1, "")),
			Steps: []Step{edit("set a deadline", runs("worker-0"), `{"spec":{"runPolicy":{"activeDeadlineSeconds":5}}}`)},
			End:   all(state("Failed"), pods())},
		{Name: "time-to-live", Manifest: tfJob("ttlSecondsAfterFinished: 2", workers(1, "")),
			Steps: []Step{end("worker-0", 1, 0, always)},
			End:   hasNothing},
	}
}

const (
	suspend = `{"spec":{"runPolicy":{"suspend":true}}}`
	resume  = `{"spec":{"runPolicy":{"suspend":false}}}`
)

// edits returns changes of a job's spec.
func edits() []Scenario {
	const cpu = `{"spec":{"tfReplicaSpecs":{"Worker":{"template":{"spec":{"containers":[{"name":"tensorflow","image":"training:1","resources":{"limits":{"cpu":%q}}}]}}}}}}`
	const path = "spec.tfReplicaSpecs.Worker.template.spec.containers[0].resources.limits.cpu"
	right, wrong := fmt.Sprintf(cpu, "1"), fmt.Sprintf(cpu, "1e1.5")
	return []Scenario{
		{Name: "scale-up", Manifest: tfJob("", workers(1, "")),
			Steps: []Step{edit("two workers", runs("worker-0"), `{"spec":{"tfReplicaSpecs":{"Worker":{"replicas":2}}}}`)},
			End:   all(state("Running"), active(2), pods("worker-0 Running", "worker-1 Running"))},
		{Name: "scale-down", Manifest: tfJob("", workers(2, "")),
			Steps: []Step{edit("one worker", runs("worker-0", "worker-1"), `{"spec":{"tfReplicaSpecs":{"Worker":{"replicas":1}}}}`)},
			End:   all(state("Running"), active(1), pods("worker-0 Running"))},
		{Name: "suspend-resume", Manifest: tfJob("", workers(1, "")),
			Steps: []Step{edit("suspend", runs("worker-0"), suspend),
				edit("resume", pods(), resume),
				end("worker-0", 2, 0, always)},
			End: all(state("Succeeded"), pods("worker-0 Succeeded"))},
		{Name: "malformed-repaired", Paths: []string{path},
			Manifest: tfJob("", replicaType{name: "Worker", replicas: 1, container: `resources: {limits: {cpu: "1e1.5"}}`}),
			Steps:    []Step{edit("repair", isRejected(path), right), end("worker-0", 1, 0, always)},
			End:      all(state("Succeeded"), pods("worker-0 Succeeded"))},
		{Name: "running-malformed-repaired", Paths: []string{path}, Manifest: tfJob("", workers(1, "")),
			Steps: []Step{edit("malformed", runs("worker-0"), wrong), edit("repair", isRejected(path), right),
				end("worker-0", 1, 0, always)},
			End: all(state("Succeeded"), pods("worker-0 Succeeded"))},
	}
}

// deletions returns the ways in which a user deletes a job.
func deletions() []Scenario {
	deletion := func(name string, propagation metav1.DeletionPropagation, end Check) Scenario {
		return Scenario{Name: name, Manifest: tfJob("", workers(2, "")), Steps: []Step{drop(propagation, runs("worker-0", "worker-1"))}, End: end}
	}
	again := Scenario{Name: "delete-create", Manifest: tfJob("", workers(1, "")),
		End: all(state("Succeeded"), pods("worker-0 Succeeded"))}
	once := again
	again.Steps = []Step{drop(metav1.DeletePropagationBackground, runs("worker-0")), createAgain(once),
		// The old job's service may occupy the name for a moment. A worker must not end before it has its own service.
		end("worker-0", 2, 0, owns("Pod", "Service"))}
	return []Scenario{
		deletion("delete-foreground", metav1.DeletePropagationForeground, hasNothing),
		deletion("delete-background", metav1.DeletePropagationBackground, hasNothing),
		deletion("delete-orphan", metav1.DeletePropagationOrphan, all(isGone, pods("worker-0 Running", "worker-1 Running"))),
		again,
	}
}
