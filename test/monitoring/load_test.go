package monitoring

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"stoic/test/operator"
)

// made counts the jobs of a load by their expected end.
type made struct{ succeed, fail, rejected, all int }

// load is a mixed load: jobs of four kinds in four namespaces that succeed, fail, are restarted, crash repeatedly, are rejected,
// suspended, refused by a quota, or wait for a node.
type load struct {
	t          *testing.T
	kubeconfig string
	made       made
}

// job is a job of a kind, with annotations for the simulated kubelet.
type job struct {
	kind, namespace, name string
	run                   string // for how long its pods run
	code                  int    // with which they end
	policy, extra, pod    string // lines of the run policy, of the replica and of the pod
}

// shape has the differences between kinds.
type shape struct{ specs, replica, container string }

func shapes() map[string]shape {
	return map[string]shape{"TFJob": {"tfReplicaSpecs", "Worker", "tensorflow"}, "PyTorchJob": {"pytorchReplicaSpecs", "Master", "pytorch"},
		"PaddleJob": {"paddleReplicaSpecs", "Worker", "paddle"}, "JAXJob": {"jaxReplicaSpecs", "Worker", "jax"}}
}

func (j job) manifest() string {
	s := shapes()[j.kind]
	return fmt.Sprintf(`apiVersion: kubeflow.org/v1
kind: %s
metadata: {name: %s, namespace: %s}
spec:
  runPolicy: {cleanPodPolicy: Running%s}
  %s:
    %s:
      replicas: 1%s
      template:
        metadata: {annotations: {simulation.stoic/run-for: %s, simulation.stoic/exit-code: "%d"}}
        spec:
          containers: [{name: %s, image: "training:1"}]%s
`, j.kind, j.name, j.namespace, j.policy, s.specs, s.replica, j.extra, j.run, j.code, s.container, j.pod)
}

func (l *load) kubectl(in string, args ...string) {
	l.t.Helper()
	if _, err := operator.Kubectl(context.Background(), l.kubeconfig, []byte(in), args...); err != nil {
		l.t.Fatal(err)
	}
}

func (l *load) create(manifests ...string) {
	l.t.Helper()
	l.made.all += len(manifests)
	l.kubectl(strings.Join(manifests, "---\n"), "create", "-f", "-")
}

// begin creates the jobs that stay.
func (l *load) begin() {
	l.t.Helper()
	for _, ns := range []string{"vision", "speech", "batch", "research"} {
		l.kubectl("", "create", "namespace", ns)
	}
	l.kubectl("", "-n", "batch", "create", "quota", "few", "--hard=count/pods=6")
	l.create(
		job{kind: "PyTorchJob", namespace: "vision", name: "long", run: "1h"}.manifest(),
		job{kind: "TFJob", namespace: "speech", name: "unschedulable", run: "1h", pod: "\n          nodeSelector: {no: such}"}.manifest(),
		job{kind: "TFJob", namespace: "batch", name: "large", run: "1h", extra: "\n      restartPolicy: Never"}.manifest(),
		strings.Replace(job{kind: "TFJob", namespace: "batch", name: "too-large", run: "1h"}.manifest(), "replicas: 1", "replicas: 9", 1),
		job{kind: "JAXJob", namespace: "research", name: "suspended", run: "1h", policy: ", suspend: true"}.manifest(),
		job{kind: "PaddleJob", namespace: "research", name: "flapping", run: "1s", code: 137, extra: "\n      restartPolicy: ExitCode"}.manifest(),
	)
}

// round creates the jobs of one round; each ends soon.
func (l *load) round(n int) {
	l.t.Helper()
	name := func(what string) string { return fmt.Sprintf("%s-%d", what, n) }
	batch := []string{
		job{kind: "PyTorchJob", namespace: "vision", name: name("train"), run: "9s"}.manifest(),
		job{kind: "TFJob", namespace: "speech", name: name("train"), run: "4s"}.manifest(),
		job{kind: "JAXJob", namespace: "research", name: name("sweep"), run: "6s", policy: ", ttlSecondsAfterFinished: 10"}.manifest(),
		job{kind: "PaddleJob", namespace: "research", name: name("train"), run: "2s"}.manifest(),
	}
	l.made.succeed += 4
	if n%2 == 0 {
		batch = append(batch, job{kind: "TFJob", namespace: "speech", name: name("failing"), run: "3s", code: 1, extra: "\n      restartPolicy: Never"}.manifest())
		l.made.fail++
	}
	if n%3 == 0 {
		batch = append(batch, strings.Replace(job{kind: "TFJob", namespace: "vision", name: name("wrong"), run: "1s"}.manifest(), "name: tensorflow", "name: other", 1),
			job{kind: "PyTorchJob", namespace: "vision", name: name("restarted"), run: "2s", code: 137, policy: ", backoffLimit: 2", extra: "\n      restartPolicy: ExitCode"}.manifest())
		l.made.rejected++
		l.made.fail++ // when its restarts are used up
	}
	l.create(batch...)
}

// run creates a round every few seconds, for some time.
func (l *load) run(rounds int, pause time.Duration) {
	l.t.Helper()
	tick := time.NewTicker(pause) // a rate, not a wait: dashboards show what happens over time
	defer tick.Stop()
	for n := range rounds {
		l.round(n)
		select {
		case <-tick.C:
		case <-l.t.Context().Done():
			l.t.Fatal(l.t.Context().Err())
		}
	}
}
