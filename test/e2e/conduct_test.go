//go:build linux

package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"stoic/schema"
	"stoic/test/e2e/node"
	"stoic/test/e2e/supplies"
	"stoic/training"
	"stoic/training/kinds"
)

// workers returns a TFJob whose workers run a shell command.
func workers(name string, replicas int, policy, more, command string) string {
	return fmt.Sprintf(`apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: %s}
spec:
  runPolicy: {cleanPodPolicy: None}
  tfReplicaSpecs:
    Worker:
      replicas: %d
      restartPolicy: %s
      template:
        spec:
          terminationGracePeriodSeconds: 1
          %s
          containers: [{name: tensorflow, image: %q, command: %s}]
`, name, replicas, policy, more, supplies.MPI, quoted([]string{"bash", "-c", command}))
}

// untilSignal is a command that ends when goOn is called.
const untilSignal = "until test -e /tmp/go; do sleep 0.2; done; echo signalled"

func (s *system) goOn(t *testing.T, namespace string, pods ...string) {
	t.Helper()
	for _, pod := range pods {
		s.kubectl(t, "", "exec", "--namespace="+namespace, pod, "--", "touch", "/tmp/go")
	}
}

// running waits until a job runs, and returns the UIDs of its pods.
func (s *system) running(t *testing.T, namespace, object string) (pods string) {
	t.Helper()
	s.kubectl(t, "", "wait", "--for=condition=Running", "--timeout=4m", "--namespace="+namespace, object)
	return s.pods(t, namespace)
}

// pods returns the pods of a namespace and their UIDs.
func (s *system) pods(t *testing.T, namespace string) string {
	t.Helper()
	return s.kubectl(t, "", "get", "pods", "--namespace="+namespace, `--output=jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}`)
}

// exitCodes: the policy ExitCode acts on a container's real exit code.
func exitCodes(t *testing.T, s *system) {
	ns := s.namespace(t, "exit-codes")
	const volume = "volumes: [{name: state, hostPath: {path: /run/e2e-exit-codes, type: DirectoryOrCreate}}]"
	retried := strings.Replace(workers("retried", 1, "ExitCode", volume, "test -e /state/done && echo recovered && exit 0; touch /state/done; exit 130"),
		"name: tensorflow, ", "name: tensorflow, volumeMounts: [{name: state, mountPath: /state}], ", 1)
	s.kubectl(t, retried, "apply", "--namespace="+ns, "-f", "-")
	s.kubectl(t, workers("permanent", 1, "ExitCode", "", "exit 3"), "apply", "--namespace="+ns, "-f", "-")
	s.succeeds(t, ns, "tfjob/retried")
	if diff := gocmp.Diff([]string{"recovered"}, s.lines(t, ns, "retried-worker-0", "recovered")); diff != "" {
		t.Errorf("the second try (-want +got):\n%s", diff)
	}
	if end := s.ends(t, ns, "tfjob/permanent"); !end.is("Failed") {
		t.Errorf("exit code 3: %+v", end.Status.Conditions)
	}
	if code := s.kubectl(t, "", "get", "pod", "permanent-worker-0", "--namespace="+ns, "--output=jsonpath={.status.containerStatuses[0].state.terminated.exitCode}"); code != "3" {
		t.Errorf("the pod that failed is not there as it was: exit code %q", code)
	}
}

// outOfMemory: the kernel kills a container that uses more memory than its limit.
func outOfMemory(t *testing.T, s *system) {
	ns := s.namespace(t, "memory")
	job := strings.Replace(workers("greedy", 1, "Never", "", "exec python3 -c 'x = bytearray(10**9)'"), "name: tensorflow, ", "name: tensorflow, resources: {limits: {memory: 64Mi}}, ", 1)
	s.kubectl(t, job, "apply", "--namespace="+ns, "-f", "-")
	if end := s.ends(t, ns, "tfjob/greedy"); !end.is("Failed") {
		t.Errorf("%+v", end.Status.Conditions)
	}
	const of = "--output=jsonpath={.status.containerStatuses[0].state.terminated.reason} {.status.containerStatuses[0].state.terminated.exitCode}"
	if got := s.kubectl(t, "", "get", "pod", "greedy-worker-0", "--namespace="+ns, of); got != "OOMKilled 137" {
		t.Errorf("the container ended with %q", got)
	}
}

// rejected names for each kind an example that the API server accepts and no operator can run.
func rejected() map[string]string {
	return map[string]string{"TFJob": "no-replicas", "PyTorchJob": "two-masters", "XGBoostJob": "xgboost-without-master", "PaddleJob": "paddle-without-workers",
		"JAXJob": "jax-with-master", "MPIJob": "no-launcher"}
}

// malformed: an event about each kind's example that no operator can run reports the error, in the words beside the example, and
// a healthy job beside it runs.
func malformed(t *testing.T, s *system) {
	ns := s.namespace(t, "malformed")
	examples := filepath.Join(s.root, "examples", "rejected")
	var all []string
	for _, kind := range kinds.All() {
		text, err := os.ReadFile(filepath.Join(examples, rejected()[kind.Name]+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Replace(string(text), "\n  namespace: default\n", "\n", 1), healthy(kind))
	}
	s.kubectl(t, strings.Join(all, "\n---\n"), "apply", "--namespace="+ns, "-f", "-")
	for _, kind := range kinds.All() {
		name := rejected()[kind.Name]
		s.succeeds(t, ns, kind.Singular+"/healthy-"+kind.Singular)
		if end := s.ends(t, ns, kind.Singular+"/"+name); !end.is("Failed") {
			t.Errorf("%s: %+v", name, end.Status.Conditions)
		}
		expected, err := os.ReadFile(filepath.Join(examples, name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range regexp.MustCompile(`(?m): error: (.*) \[\w+\]$`).FindAllStringSubmatch(string(expected), -1) {
			s.await(t, ns, "an event with "+problem[1], func() (bool, string) {
				events, err := s.try("", "get", "events", "--namespace="+ns, "--field-selector=involvedObject.name="+name, "--output=jsonpath={.items[*].message}")
				return err == nil && strings.Contains(events, problem[1]), events
			})
		}
	}
}

// healthy returns a job of the kind whose pods do nothing, with the fewest replicas that a job may have. Its name and those of
// its pods are unique to the kind.
func healthy(kind *training.Kind) string {
	replicas := map[string]any{}
	for _, rtype := range map[string][]string{"PyTorchJob": {"Master"}, "XGBoostJob": {"Master"}, "MPIJob": {"Launcher", "Worker"}}[kind.Name] {
		replicas[rtype] = nil
	}
	if len(replicas) == 0 {
		replicas["Worker"] = nil
	}
	for rtype := range replicas {
		container := map[string]any{"name": cmp.Or(kind.Container, "main"), "image": supplies.MPI, "command": []string{"true"}}
		if rtype == "Worker" && kind.Name == "MPIJob" {
			delete(container, "command") // it waits for the launcher
		}
		replicas[rtype] = map[string]any{"template": map[string]any{"spec": map[string]any{"terminationGracePeriodSeconds": 1, "containers": []any{container}}}}
	}
	return string(schema.JSON(map[string]any{"apiVersion": kind.APIVersion(), "kind": kind.Name, "metadata": map[string]any{"name": "healthy-" + kind.Singular},
		"spec": map[string]any{"runPolicy": map[string]any{"cleanPodPolicy": "Running"}, kind.ReplicaSpecsField: replicas}}))
}

// drained: the node is drained while a job runs, and later accepts pods again. The job continues with other pods.
func drained(t *testing.T, s *system) {
	ns := s.namespace(t, "drained")
	s.kubectl(t, workers("job", 2, "OnFailure", "", untilSignal), "apply", "--namespace="+ns, "-f", "-")
	before := s.running(t, ns, "tfjob/job")
	s.kubectl(t, "", "drain", node.Name, "--pod-selector=training.kubeflow.org/job-name=job", "--force", "--delete-emptydir-data", "--timeout=2m")
	s.await(t, ns, "pods that wait for a node", func() (bool, string) {
		phases, err := s.try("", "get", "pods", "--namespace="+ns, "--output=jsonpath={.items[*].status.phase}")
		return err == nil && phases == "Pending Pending", phases
	})
	s.kubectl(t, "", "uncordon", node.Name)
	s.kubectl(t, "", "wait", "--for=condition=Ready", "--timeout=2m", "--namespace="+ns, "pod/job-worker-0", "pod/job-worker-1")
	if after := s.pods(t, ns); after == before {
		t.Errorf("the pods are those that were evicted:\n%s", after)
	}
	s.goOn(t, ns, "job-worker-0", "job-worker-1")
	s.succeeds(t, ns, "tfjob/job")
}
